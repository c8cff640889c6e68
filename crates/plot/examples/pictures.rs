//! Draws one of each picture into a folder, to be looked at after a change:
//! `cargo run -p couplet-plot --example pictures -- FOLDER [FONTS]`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use couplet_plot::{
    Attention, Background, Bar, Bars, Color, Curves, Fonts, Group, Panel, Scale, Series, View, to_png,
};
use std::error::Error;
use std::path::{Path, PathBuf};

/// A name, what was read, what was written.
const SENTENCES: [[&str; 3]; 5] = [
    [
        "chinese",
        "the dog that Lily likes was chased by a black cat",
        "莉莉 喜欢 的 狗 被 一 只 黑 猫 追逐 了",
    ],
    [
        "arabic",
        "القط يطارد الفأر في المطبخ كل صباح .",
        "the cat chases the mouse in the kitchen every morning .",
    ],
    ["emoji", "👩‍🚀 🐱 chases 🐭 ❤️ !", "🇩🇪 die Katze 🐈 jagt die Maus 👍🏽 !"],
    [
        "scripts",
        "кошка γάτα बिल्ली 고양이 ねこ แมว חתול կատու",
        "pneumonoultramicroscopicsilicovolcanoconiosis <unk> \u{202e}turned",
    ],
    ["one", "a", "b"],
];

/// The worked example of the study notes.
fn tom() -> Attention {
    let words = |line: &str| line.split(' ').map(String::from).collect();
    Attention {
        source: words("Tom chase Jerry"),
        target: words("汤姆 追逐 杰瑞"),
        weights: vec![vec![0.6, 0.2, 0.2], vec![0.2, 0.7, 0.1], vec![0.3, 0.2, 0.5]],
    }
}

/// Weights as a model might have them: most of it near the diagonal, the rest spread.
fn likely(source: Vec<String>, target: Vec<String>) -> Attention {
    let (columns, rows) = (source.len(), target.len());
    let row = |row: usize| {
        let middle = (row * columns) as f32 / rows as f32 + ((row * 7) % 5) as f32 - 2.0;
        let scores: Vec<f32> =
            (0..columns).map(|column| (-(column as f32 - middle).powi(2) / 1.5).exp() + 0.004).collect();
        let sum: f32 = scores.iter().sum();
        scores.into_iter().map(|score| score / sum).collect()
    };
    let weights = (0..rows).map(row).collect();
    Attention { source, target, weights }
}

fn attentions() -> Vec<(String, Attention)> {
    let words = |line: &str| line.split(' ').map(String::from).collect();
    let of_lines =
        SENTENCES.map(|[name, source, target]| (name.to_owned(), likely(words(source), words(target))));
    let numbered = |name: &str, count: usize| (0..count).map(|i| format!("{name}{i}")).collect();
    let long = [20, 40, 70, 150].map(|count| {
        (format!("long-{count}"), likely(numbered("word", count), numbered("▁Wort", count * 9 / 10)))
    });
    [("tom".to_owned(), tom())].into_iter().chain(of_lines).chain(long).collect()
}

fn curves() -> Curves {
    let points =
        |shift: f64| (1..60).map(|x| [f64::from(x * 100), 2.0 + shift + 5.0 / f64::from(x)]).collect();
    let series =
        |name: &str, shift| Series { name: name.to_owned(), points: points(shift), spread: Vec::new() };
    let panel =
        |name: &str, series| Panel { name: name.to_owned(), scale: Scale::Linear, reach: Vec::new(), series };
    let loss = panel("loss", vec![series("training", 0.0), series("validation", 0.4)]);
    let panels = vec![loss, panel("perplexity", vec![series("validation", 1.0)])];
    Curves { title: "a run".to_owned(), axis: "updates".to_owned(), panels }
}

fn bars() -> Bars {
    let group = |name: &str, values: [f64; 4]| {
        let names = ["rnn, last state", "gru, last state", "attention, additive", "转换器 (Transformer)"];
        let bars = names.into_iter().zip(values).map(|(name, value)| Bar { name: name.to_owned(), value });
        Group { name: name.to_owned(), bars: bars.collect() }
    };
    let groups = vec![
        group("BLEU", [4.1, 5.8, 28.7, 31.25]),
        group("tokens a second", [2_003_386.0, 1_481_367.0, 507_078.0, 1_900_000.0]),
    ];
    Bars { title: "Models beside each other".to_owned(), groups }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().ok_or("name a folder")?;
    let fonts = arguments.next().map_or_else(Fonts::of_system, |fonts| Fonts::in_folder(&fonts));
    std::fs::create_dir_all(&folder)?;
    for (background, ending) in [(Background::Page, ""), (Background::Dark, "-dark")] {
        for (name, attention) in attentions() {
            for (view, kind) in [(View::Heatmap, "heatmap"), (View::Lines, "lines")] {
                let svg = attention.to_svg(view, background);
                write(&folder, &format!("{name}-{kind}{ending}"), &svg, &fonts)?;
                std::fs::write(
                    folder.join(format!("{name}-{kind}.txt")),
                    attention.to_terminal(view, 100, Color::None),
                )?;
            }
        }
        write(&folder, &format!("curves{ending}"), &curves().to_svg(background), &fonts)?;
        write(&folder, &format!("bars{ending}"), &bars().to_svg(background), &fonts)?;
    }
    std::fs::write(folder.join("bars.txt"), bars().to_terminal(100))?;
    Ok(())
}

/// The picture as SVG and as PNG.
fn write(folder: &Path, name: &str, svg: &str, fonts: &Fonts) -> Result<(), Box<dyn Error>> {
    let png = to_png(svg, 2.0, fonts)?;
    std::fs::write(folder.join(name).with_extension("svg"), svg)?;
    std::fs::write(folder.join(name).with_extension("png"), &png.bytes)?;
    println!("{name}: {} bytes of SVG, {} of PNG, missing {:?}", svg.len(), png.bytes.len(), png.missing);
    Ok(())
}
