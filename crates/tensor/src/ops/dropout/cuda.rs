use super::{Dropout, DropoutMask, DropoutScope};
use crate::cuda::{Cuda, DeviceLayout, Launch, Pointer, Record, Source};
use crate::device::Device;
use crate::layout::SequenceLayout;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("dropout", include_str!("dropout.cu"));

/// The same for values and for gradients.
pub(super) fn apply(cuda: &Cuda, x: &Tensor, rows: &SequenceLayout, how: Dropout) -> Tensor {
    let (count, width) = x.shape();
    let mut y = Tensor::scratch(x.device(), count, width);
    if count * width == 0 {
        return y;
    }
    let rows = DeviceLayout::new(x.device(), rows);
    let [key0, key1] = how.stream().key();
    let arguments = [
        y.pointer_mut().into(),
        x.pointer().into(),
        count.into(),
        width.into(),
        rows.starts().into(),
        rows.examples().into(),
        rows.steps.into(),
        key0.into(),
        key1.into(),
        how.update.into(),
        how.threshold().into(),
        how.kept().into(),
        (how.scope as u32).into(),
    ];
    // SAFETY: a row of `x` for each packed row.
    unsafe {
        cuda.launch(cuda.kernel(&SOURCE, "dropout"), Launch::over(count * width.div_ceil(4)), &arguments);
    };
    y
}

/// Dropout inside of another kernel: `Dropping` of the prelude.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Dropping {
    starts: Pointer,
    examples: Pointer,
    steps: u32,
    key: [u32; 2],
    update: u32,
    /// Zero where nothing is dropped.
    threshold: u32,
    kept: f32,
    together: u32,
}

impl Record for Dropping {}

impl Dropping {
    /// The record, and what it points to.
    pub(crate) fn new(device: &Device, dropped: Option<&DropoutMask>) -> (Dropping, Option<DeviceLayout>) {
        let Some(DropoutMask { how, rows }) = dropped else {
            let none = Dropping {
                starts: Pointer::NULL,
                examples: Pointer::NULL,
                steps: 0,
                key: [0; 2],
                update: 0,
                threshold: 0,
                kept: 1.0,
                together: DropoutScope::Element as u32,
            };
            return (none, None);
        };
        let packed = DeviceLayout::new(device, rows);
        let dropping = Dropping {
            starts: packed.starts(),
            examples: packed.examples(),
            steps: rows.steps() as u32,
            key: how.stream().key(),
            update: how.update,
            threshold: how.threshold(),
            kept: how.kept(),
            together: how.scope as u32,
        };
        (dropping, Some(packed))
    }
}
