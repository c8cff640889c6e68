use crate::cuda::{Cuda, Factor, Launch, Pointer, Source, View};
use crate::product::Update;

pub(crate) const SOURCE: Source = Source::plain("sums", include_str!("sums.cu"));

/// The sums of the columns of a matrix that is not transposed.
pub(crate) fn column_sums(cuda: &Cuda, a: impl Into<Factor>, out: Pointer, update: Update) {
    sums(cuda, &a.into(), None, out, update);
}

/// The sums of the columns of `a ⊙ b`, which lie alike.
pub(crate) fn column_sums_of_product(cuda: &Cuda, a: View, b: View, out: Pointer, update: Update) {
    sums(cuda, &a.into(), Some(b.pointer), out, update);
}

fn sums(cuda: &Cuda, a: &Factor, b: Option<Pointer>, out: Pointer, update: Update) {
    let name = if a.is_rounded() { "column_sums_rounded" } else { "column_sums" };
    let a = a.view();
    let how = Launch { blocks: [a.columns.div_ceil(32), 1], threads: [32, 32], shared: 0 };
    let arguments = [
        out.into(),
        a.pointer.into(),
        b.into(),
        a.rows.into(),
        a.columns.into(),
        a.stride().into(),
        (update == Update::Add).into(),
    ];
    // SAFETY: the view lies inside of its tensor, and `out` has a place for each column.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, name), how, &arguments) };
}
