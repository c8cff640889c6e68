use super::{ParamStatistics, SMALLEST, SMALLEST_WEIGHT, Step};
use crate::cuda::{Arg, Cuda, Launch, Pointer, Source};
use crate::optimizer::Clip;
use crate::optimizer::cuda::clipping;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("adafactor", include_str!("adafactor.cu"));

/// Blocks that sum squares: always as many, so that the sum always has the same order.
const BLOCKS: usize = 256;

pub(super) fn apply(
    cuda: &Cuda,
    params: &[(ParamStatistics, Step)],
    weights: Pointer,
    gradients: &Tensor,
    statistics: &mut Tensor,
    clip: Option<Clip>,
) {
    let device = statistics.device().clone();
    // Doubles: as wide as two floats each; two sums per block.
    let mut sums = Tensor::scratch(&device, BLOCKS, 4);
    let mut scalars = Tensor::scratch(&device, 1, 2);
    let (sums, inverse) = (sums.pointer_mut(), scalars.pointer_mut());
    let step = inverse.at(1);
    let statistics = statistics.pointer_mut();
    let [norm, limit] = clipping(clip);
    for (param, how) in params {
        let (rows, columns, count) = (param.rows, param.columns, param.weights.len());
        let (w, g) = (weights.at(param.weights.start), gradients.pointer().at(param.weights.start));
        let of_columns = statistics.at(param.statistics);
        let of_rows = param.has_rows().then(|| statistics.at(param.of_rows().start));
        let launch = |name, how, arguments: &[Arg]| {
            // SAFETY: the weights and gradients of a parameter, its statistics, and as many sums as blocks.
            unsafe { cuda.launch(cuda.kernel(&SOURCE, name), how, arguments) };
        };
        launch(
            "adafactor_columns",
            Launch::over(columns),
            &[of_columns.into(), g.into(), rows.into(), columns.into(), norm, limit, how.mix.into()],
        );
        if let Some(of_rows) = of_rows {
            launch(
                "adafactor_rows",
                Launch::blocks(rows),
                &[of_rows.into(), g.into(), columns.into(), norm, limit, how.mix.into()],
            );
            launch(
                "adafactor_mean",
                Launch::blocks(1),
                &[inverse.into(), of_rows.into(), rows.into(), SMALLEST.into()],
            );
        }
        let (second, size) =
            ([of_columns.into(), of_rows.into(), inverse.into()], [columns.into(), count.into()]);
        launch(
            "adafactor_sums",
            Launch::blocks(BLOCKS),
            &[&[sums.into(), w.into(), g.into()], &second[..], &size, &[norm, limit, SMALLEST.into()]]
                .concat(),
        );
        launch(
            "adafactor_step",
            Launch::blocks(1),
            &[step.into(), sums.into(), BLOCKS.into(), count.into(), how.rate.into(), SMALLEST_WEIGHT.into()],
        );
        let ends = [norm, limit, how.keep.into(), SMALLEST.into()];
        launch(
            "adafactor_move",
            Launch::over(count),
            &[&[w.into(), g.into()], &second[..], &[step.into()], &size, &ends].concat(),
        );
    }
}
