//! Norms of states and gradients by step, with tanh and without.

use super::{Claim, picture, table};
use crate::norms::{Norms, RADII, STEPS, Squash};
use couplet_plot::{Panel, Scale, Series};
use couplet_tensor::Device;

pub(super) fn claim() -> Claim {
    let measured = measured();
    let text = format!(
        "A layer that is told nothing, `h_t = f(A·h_(t-1))`, for {STEPS} steps. What is left of the first state at the last step, and of the last \
         step's gradient at the first one, by the size of the largest eigenvalue of `A`:\n\n"
    );
    let row = |(name, norms): &(String, Norms)| {
        vec![name.clone(), format!("{:.1e}", norms.states[STEPS]), format!("{:.1e}", norms.gradients[0])]
    };
    let rows: Vec<Vec<String>> = measured.iter().map(row).collect();
    Claim {
        title: "Without tanh, states explode or vanish, and gradients with them".to_owned(),
        text: text + &table(&["largest eigenvalue", "norm of the state", "norm of the gradient"], &rows),
        picture: picture(
            "norms-by-step",
            "Norms of states and gradients",
            "step",
            [
                vec![panel("norm of the state", &measured, |norms| &norms.states)],
                vec![panel("norm of the gradient", &measured, |norms| &norms.gradients)],
            ],
        ),
    }
}

/// Each radius with tanh and without. A layer of a few units needs no GPU.
fn measured() -> Vec<(String, Norms)> {
    let device = Device::cpu();
    let of = |(squash, name): (Squash, &str)| {
        RADII.map(|radius| (format!("{radius:.1} {name}"), Norms::of_radius(&device, radius, squash)))
    };
    [(Squash::None, "without tanh"), (Squash::Tanh, "with tanh")].into_iter().flat_map(of).collect()
}

fn panel(name: &str, measured: &[(String, Norms)], figures: fn(&Norms) -> &Vec<f64>) -> Panel {
    let series = |(name, norms): &(String, Norms)| Series {
        name: name.clone(),
        points: figures(norms).iter().enumerate().map(|(step, &norm)| [step as f64, norm]).collect(),
        spread: Vec::new(),
    };
    let series = measured.iter().map(series).collect();
    Panel { name: name.to_owned(), scale: Scale::Logarithmic, reach: Vec::new(), series }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_layers_and_a_hundred_steps() {
        let Claim { text, picture, .. } = claim();
        assert_eq!(text.matches(" tanh | ").count(), 6, "{text}");
        let (_, curves) = picture.unwrap();
        assert!(curves.panels.iter().all(|panel| panel.series.len() == 6));
        assert!(curves.panels[0].series.iter().all(|series| series.points.len() == STEPS + 1));
    }
}
