//! Matrix products: every form of operand, every edge of the blocks, and the same bits on every path.

use crate::support::{VALUES, any_device, assert_close, devices, isas, numbers};
use couplet_tensor::ops::linear;
use couplet_tensor::product::reference;
use couplet_tensor::{Device, Init, Mat, Params, Tape, Tensor, Update, Var, multiply};
use proptest::prelude::*;

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug)]
enum Form {
    Plain,
    Transposed,
    /// Some columns of a wider matrix.
    Block,
    /// Some rows of the transpose of a wider matrix.
    TransposedBlock,
}

const FORMS: [Form; 4] = [Form::Plain, Form::Transposed, Form::Block, Form::TransposedBlock];
const UPDATES: [Update; 2] = [Update::Set, Update::Add];
/// Columns before and after a block, which must not be read.
const MARGIN: usize = 3;

#[derive(Debug)]
struct Operand {
    form: Form,
    rows: usize,
    columns: usize,
    numbers: Vec<f32>,
}

impl Operand {
    fn new(name: &str, form: Form, rows: usize, columns: usize) -> Operand {
        let length = match form {
            Form::Plain | Form::Transposed => rows * columns,
            Form::Block => rows * (columns + 2 * MARGIN),
            Form::TransposedBlock => columns * (rows + 2 * MARGIN),
        };
        Operand { form, rows, columns, numbers: numbers(name, length) }
    }

    fn mat(&self) -> Mat<'_> {
        let Operand { form, rows, columns, ref numbers } = *self;
        match form {
            Form::Plain => Mat::new(numbers, rows, columns),
            Form::Transposed => Mat::new(numbers, columns, rows).transposed(),
            Form::Block => {
                Mat::new(numbers, rows, columns + 2 * MARGIN).column_block(MARGIN..MARGIN + columns)
            }
            Form::TransposedBlock => {
                Mat::new(numbers, columns, rows + 2 * MARGIN).column_block(MARGIN..MARGIN + rows).transposed()
            }
        }
    }
}

/// One product against the reference, with numbers around the target that must stay.
fn check(device: &Device, [m, k, n]: [usize; 3], [left, right]: [Form; 2], update: Update) {
    const GUARD: usize = 40;
    let (a, b) = (Operand::new("a", left, m, k), Operand::new("b", right, k, n));
    let before = numbers("out", m * n + 2 * GUARD);
    let mut out = before.clone();
    multiply(device, &mut out[GUARD..], a.mat(), b.mat(), update);

    let name = format!("{left:?} {m} × {k} · {right:?} {k} × {n}, {update:?}, on {device:?}");
    let target = GUARD..GUARD + m * n;
    assert_eq!(out[..GUARD], before[..GUARD], "{name}: before the target");
    assert_eq!(out[target.end..], before[target.end..], "{name}: behind the target");
    let mut want = reference::multiply(a.mat(), b.mat());
    if update == Update::Add {
        want.iter_mut().zip(&before[target.clone()]).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    assert_close(&name, &out[target], &want, VALUES);
}

#[test]
fn a_product_by_hand() {
    // (1 2 3)   (7  8)    (1·7 + 2·9 + 3·11    1·8 + 2·10 + 3·12)    ( 58  64)
    // (4 5 6) · (9 10)  = (4·7 + 5·9 + 6·11    4·8 + 5·10 + 6·12)  = (139 154)
    //           (11 12)
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let b = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
    let mut out = [0.0; 4];
    multiply(&any_device(), &mut out, Mat::new(&a, 2, 3), Mat::new(&b, 3, 2), Update::Set);
    assert_eq!(out, [58.0, 64.0, 139.0, 154.0]);
    multiply(&any_device(), &mut out, Mat::new(&a, 2, 3), Mat::new(&b, 3, 2), Update::Add);
    assert_eq!(out, [116.0, 128.0, 278.0, 308.0]);
}

#[test]
fn every_form_of_both_operands() {
    // Odd sizes; more rows than are read in place; deeper than a block; nothing to sum over.
    let shapes = [[7, 9, 33], [130, 17, 15], [5, 300, 17], [97, 520, 33], [6, 0, 7], [0, 5, 7], [5, 7, 0]];
    for device in devices() {
        for shape in shapes {
            for left in FORMS {
                for right in FORMS {
                    for update in UPDATES {
                        check(&device, shape, [left, right], update);
                    }
                }
            }
        }
    }
}

#[test]
fn every_edge_of_the_blocks() {
    const SIZES: [usize; 11] = [1, 5, 6, 7, 8, 15, 16, 17, 33, 97, 130];
    for device in devices() {
        for (i, &m) in SIZES.iter().enumerate() {
            for (j, &n) in SIZES.iter().enumerate() {
                // Depths, forms and updates take turns, so that each meets many heights and widths.
                let k = SIZES[(4 * i + j) % SIZES.len()];
                let turn = i * SIZES.len() + j;
                let forms = [FORMS[turn % 4], FORMS[turn / 4 % 4]];
                check(&device, [m, k, n], forms, UPDATES[turn % 2]);
            }
        }
    }
}

#[test]
fn a_row_gives_the_same_bits_in_any_matrix_with_any_number_of_threads() {
    let [m, k, n] = [250, 300, 97];
    let (a, b) = (Operand::new("a", Form::Plain, m, k), Operand::new("b", Form::Transposed, k, n));
    for isa in isas() {
        let product = |threads, rows: std::ops::Range<usize>| {
            let mut out = vec![0.5; rows.len() * n];
            let a = a.mat().row_block(rows);
            multiply(&Device::cpu_with(threads, isa), &mut out, a, b.mat(), Update::Add);
            out
        };
        let whole = product(1, 0..m);
        for threads in [1, 2, 3] {
            for rows in [0..1, 0..m, 5..6, 3..9, 1..8, 2..97, 0..96, 7..127, 9..130, 11..m] {
                let want = &whole[rows.start * n..rows.end * n];
                assert!(product(threads, rows.clone()) == want, "rows {rows:?}, {threads} threads, {isa:?}");
            }
        }
    }
}

#[test]
fn a_packed_weight_gives_the_same_bits_as_a_plain_one() {
    let [rows, inputs, outputs] = [97, 300, 97];
    let x = numbers("x", rows * inputs);
    for device in devices() {
        let mut params = Params::new(&device, 5);
        let weight = params.add("W", outputs, inputs, Init::Uniform(1.0));
        let bias = params.add("b", 1, outputs, Init::Uniform(1.0));
        let tape = Tape::new();
        let [packing, bias] = [weight, bias].map(|param| tape.param(&params, param));
        let plain = Var::constant(Tensor::new(&device, outputs, inputs, &packing.value().to_vec()));
        // A parameter is packed for up to 96 rows; another tensor, and a parameter for more rows, is not.
        let y = |weight: &Var, rows: usize| {
            let x = Var::constant(Tensor::new(&device, rows, inputs, &x[..rows * inputs]));
            linear(&x, weight, Some(&bias)).value().to_vec()
        };
        let want = y(&plain, rows);
        for rows in [1, 2, 6, 7, 13, 96, 97] {
            assert!(y(&packing, rows) == want[..rows * outputs], "{rows} rows on {device:?}");
            assert!(y(&plain, rows) == want[..rows * outputs], "{rows} rows, plain, on {device:?}");
        }
    }
}

#[test]
fn a_changed_weight_is_packed_again() {
    let device = any_device();
    let mut params = Params::new(&device, 5);
    let weight = params.add("W", 1, 2, Init::Constant(1.0));
    let x = Var::constant(Tensor::new(&device, 1, 2, &[3.0, 4.0]));
    let y = |params: &Params| linear(&x, &Var::constant(params.tensor(weight)), None).value().item();
    assert_eq!(y(&params), 7.0); // 1·3 + 1·4
    params.set(weight, &[2.0, -1.0]);
    assert_eq!(y(&params), 2.0); // 2·3 − 1·4
}

#[test]
#[should_panic(expected = "a product of 2 × 3 and 4 × 5")]
fn operands_that_do_not_fit_are_named() {
    let (a, b) = (Operand::new("a", Form::Plain, 2, 3), Operand::new("b", Form::Plain, 4, 5));
    multiply(&any_device(), &mut [0.0; 10], a.mat(), b.mat(), Update::Set);
}

#[test]
#[should_panic(expected = "9 numbers for a product of 2 × 5")]
fn a_target_that_is_too_short_is_named() {
    let (a, b) = (Operand::new("a", Form::Plain, 2, 3), Operand::new("b", Form::Plain, 3, 5));
    multiply(&any_device(), &mut [0.0; 9], a.mat(), b.mat(), Update::Set);
}

#[test]
fn parts_of_a_matrix_are_what_their_names_say() {
    let numbers = numbers("a", 12);
    let mat = Mat::new(&numbers, 3, 4);
    let part = mat.row_block(1..3).column_block(1..4).transposed();
    assert_eq!((part.rows(), part.columns()), (3, 2));
    for i in 0..3 {
        for j in 0..2 {
            assert_eq!(part.at(i, j), mat.at(1 + j, 1 + i));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_shape_and_any_form(
        shape in [0usize..60, 0usize..60, 0usize..60],
        forms in [0usize..4, 0usize..4],
        device in 0..devices().len(),
        add: bool,
    ) {
        let update = if add { Update::Add } else { Update::Set };
        check(&devices()[device], shape, forms.map(|form| FORMS[form]), update);
    }
}
