use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::draw::CONSTRUCTIONS;
use super::words::{
    ADJECTIVES, FREQUENCIES, FUTURE, MANNERS, MODALS, Modal, PRONOUNS, QUALITIES, SPOTS, THINGS,
};
use super::words::{Determiner, Noun, Number, Verb, Words};
use super::*;

fn name(en: &str) -> NounPhrase {
    NounPhrase::name(*find(&NAMES, |name| name.0, en))
}

fn pronoun(en: &str) -> NounPhrase {
    NounPhrase::pronoun(*find(&PRONOUNS, |pronoun| pronoun.0, en))
}

fn noun(en: &str) -> &'static Noun {
    BEINGS.iter().chain(&THINGS).find(|noun| noun.singular == en).unwrap()
}

fn determiner(en: &str, number: Number) -> &'static Determiner {
    DETERMINERS.iter().find(|determiner| determiner.en == en && determiner.number == number).unwrap()
}

fn the(en: &str) -> NounPhrase {
    NounPhrase::noun(determiner("the", Number::One), NONE, noun(en))
}

fn verb(en: &str) -> &'static Verb {
    find(&VERBS, |verb| verb.base, en)
}

fn modal(en: &str) -> &'static Modal {
    find(&MODALS, |modal| modal.base, en)
}

fn at(place: &str, time: Words) -> Adverbs {
    Adverbs { place: *find(&PLACES, |entry| entry.0, place), time, ..Adverbs::default() }
}

fn when(time: Words) -> Adverbs {
    Adverbs { time, ..Adverbs::default() }
}

#[track_caller]
fn check((pair, _): &Translated, en: &str, zh: &str) {
    assert_eq!((pair.source.as_str(), pair.target.as_str()), (en, zh));
}

#[test]
fn noun_phrases() {
    let check = |phrase: &NounPhrase, en: &str, zh: &str| {
        assert_eq!((phrase.object.as_str(), phrase.zh.as_str()), (en, zh));
    };
    let adjective = |en: &str, zh: &str| {
        ADJECTIVES.iter().find(|row| (row.0, row.1) == (en, zh)).map(|r| (r.0, r.1)).unwrap()
    };
    let a = determiner("a", Number::One);
    check(&the("cat"), "the cat", "猫");
    check(&NounPhrase::noun(determiner("the", Number::Many), NONE, noun("mouse")), "the mice", "那些 老鼠");
    check(
        &NounPhrase::noun(determiner("two", Number::Many), ("black", "黑"), noun("cat")),
        "two black cats",
        "两 只 黑 猫",
    );
    check(&NounPhrase::noun(a, NONE, noun("letter")), "a letter", "一 封 信");
    check(&NounPhrase::noun(a, NONE, noun("apple")), "an apple", "一 个 苹果");
    check(&NounPhrase::noun(a, adjective("old", "旧"), noun("book")), "an old book", "一 本 旧 书");
    check(
        &NounPhrase::noun(a, adjective("old", "年老 的"), noun("doctor")),
        "an old doctor",
        "一 位 年老 的 医生",
    );
    check(&pronoun("they"), "them", "他们");
    check(&the("cat").at(PLACES[1]), "the cat in the garden", "花园 里 的 猫");
    check(
        &the("cat").that_does(verb("chase"), Tense::Present, &name("Jerry")),
        "the cat that chases Jerry",
        "追逐 杰瑞 的 猫",
    );
    check(
        &the("cat").that_is_done(&name("Tom"), verb("see"), Tense::Past),
        "the cat that Tom saw",
        "汤姆 看见 的 猫",
    );
    check(
        &the("girl").that_is_done(&name("Tom"), verb("see"), Tense::Past),
        "the girl who Tom saw",
        "汤姆 看见 的 女孩",
    );
    check(&name("Tom").and(&name("Jerry")), "Tom and Jerry", "汤姆 和 杰瑞");
}

#[test]
fn verbs_agree() {
    let tom = name("Tom");
    for (subject, chase, is, was) in [
        (name("Jerry"), "chases", "is", "was"),
        (pronoun("I"), "chase", "am", "was"),
        (pronoun("you"), "chase", "are", "were"),
        (NounPhrase::noun(determiner("these", Number::Many), NONE, noun("child")), "chase", "are", "were"),
        (name("Jerry").and(&name("Anna")), "chase", "are", "were"),
    ] {
        assert_eq!(subject.present(verb("chase")), chase);
        assert_eq!((subject.is(), subject.was()), (is, was));
        let (pair, _) = grammar::present(&subject, NONE, verb("chase"), &tom, &Adverbs::default());
        assert_eq!(pair.source, format!("{} {chase} Tom", subject.subject));
    }
}

#[test]
fn statements() {
    let (tom, jerry) = (&name("Tom"), &name("Jerry"));
    let nothing = &Adverbs::default();
    check(&grammar::present(tom, NONE, verb("chase"), jerry, nothing), "Tom chases Jerry", "汤姆 追逐 杰瑞");
    check(
        &grammar::present(tom, FREQUENCIES[0], verb("help"), jerry, nothing),
        "Tom often helps Jerry",
        "汤姆 经常 帮助 杰瑞",
    );
    check(
        &grammar::present(tom, NONE, verb("see"), jerry, &at("in the kitchen", HABITUAL[1])),
        "Tom sees Jerry in the kitchen every morning",
        "汤姆 每天 早上 在 厨房 里 看见 杰瑞",
    );
    let quietly = Adverbs { manner: (MANNERS[1].0, MANNERS[1].1), ..at("in the park", PAST[0]) };
    check(
        &grammar::past(tom, verb("follow"), jerry, &quietly),
        "Tom followed Jerry quietly in the park yesterday",
        "汤姆 昨天 在 公园 里 悄悄 地 跟踪 了 杰瑞",
    );
    check(
        &grammar::modal(tom, modal("will"), verb("wait for"), jerry, &at("at home", FUTURE[0])),
        "Tom will wait for Jerry at home tomorrow",
        "汤姆 明天 会 在 家 里 等 杰瑞",
    );
    check(
        &grammar::modal(tom, modal("want to"), verb("help"), jerry, nothing),
        "Tom wants to help Jerry",
        "汤姆 想 帮助 杰瑞",
    );
}

#[test]
fn negations() {
    let (tom, jerry) = (&name("Tom"), &name("Jerry"));
    check(&grammar::does_not(tom, verb("like"), jerry), "Tom does not like Jerry", "汤姆 不 喜欢 杰瑞");
    check(
        &grammar::does_not(&pronoun("we"), verb("like"), jerry),
        "we do not like Jerry",
        "我们 不 喜欢 杰瑞",
    );
    check(
        &grammar::did_not(tom, verb("see"), jerry, &when(PAST[0])),
        "Tom did not see Jerry yesterday",
        "汤姆 昨天 没有 看见 杰瑞",
    );
    let nothing = &Adverbs::default();
    check(
        &grammar::modal_not(tom, modal("can"), verb("help"), jerry, nothing),
        "Tom cannot help Jerry",
        "汤姆 不 能 帮助 杰瑞",
    );
    check(
        &grammar::modal_not(&pronoun("they"), modal("want to"), verb("help"), jerry, nothing),
        "they do not want to help Jerry",
        "他们 不 想 帮助 杰瑞",
    );
}

#[test]
fn questions() {
    let (tom, jerry) = (&name("Tom"), &name("Jerry"));
    let nothing = &Adverbs::default();
    check(&grammar::does(tom, verb("like"), jerry), "does Tom like Jerry", "汤姆 喜欢 杰瑞 吗");
    check(
        &grammar::did(tom, verb("see"), jerry, &when(PAST[0])),
        "did Tom see Jerry yesterday",
        "汤姆 昨天 看见 杰瑞 了 吗",
    );
    check(
        &grammar::will(tom, verb("help"), jerry, &when(FUTURE[0])),
        "will Tom help Jerry tomorrow",
        "汤姆 明天 会 帮助 杰瑞 吗",
    );
    let who = &NounPhrase::question(("who", "谁"));
    let what = &NounPhrase::question(("what", "什么"));
    check(&grammar::past(who, verb("eat"), &the("cake"), nothing), "who ate the cake", "谁 把 蛋糕 吃 了");
    check(&grammar::whom(who, tom, verb("see")), "who did Tom see", "汤姆 看见 了 谁");
    check(&grammar::whom(who, tom, verb("like")), "who does Tom like", "汤姆 喜欢 谁");
    check(&grammar::whom(what, tom, verb("buy")), "what did Tom buy", "汤姆 买 了 什么");
    check(&grammar::whom_will(who, tom, verb("help")), "who will Tom help", "汤姆 会 帮助 谁");
    check(
        &grammar::where_did(tom, verb("see"), jerry),
        "where did Tom see Jerry",
        "汤姆 是 在 哪里 看见 杰瑞 的",
    );
    check(
        &grammar::when_did(tom, verb("see"), jerry),
        "when did Tom see Jerry",
        "汤姆 是 什么 时候 看见 杰瑞 的",
    );
    check(&grammar::why_did(tom, verb("chase"), jerry), "why did Tom chase Jerry", "汤姆 为什么 追逐 杰瑞");
    check(
        &grammar::where_will(tom, verb("visit"), jerry),
        "where will Tom visit Jerry",
        "汤姆 会 在 哪里 看望 杰瑞",
    );
    check(
        &grammar::when_will(tom, verb("visit"), jerry),
        "when will Tom visit Jerry",
        "汤姆 什么 时候 会 看望 杰瑞",
    );
}

#[test]
fn passives() {
    let (tom, jerry, chase) = (&name("Tom"), &name("Jerry"), verb("chase"));
    check(
        &grammar::is_done(jerry, FREQUENCIES[0], chase, tom),
        "Jerry is often chased by Tom",
        "杰瑞 经常 被 汤姆 追逐",
    );
    check(
        &grammar::was_done(jerry, chase, &pronoun("he"), &at("in the garden", PAST[0])),
        "Jerry was chased by him in the garden yesterday",
        "杰瑞 昨天 在 花园 里 被 他 追逐 了",
    );
    check(
        &grammar::was_not_done(jerry, chase, tom, &when(PAST[0])),
        "Jerry was not chased by Tom yesterday",
        "杰瑞 昨天 没有 被 汤姆 追逐",
    );
    check(&grammar::was_it_done(jerry, chase, tom), "was Jerry chased by Tom", "杰瑞 被 汤姆 追逐 了 吗");
}

#[test]
fn disposals() {
    let (tom, jerry, cake) = (&name("Tom"), &name("Jerry"), &the("cake"));
    let two = &NounPhrase::noun(determiner("two", Number::Many), NONE, noun("cake"));
    check(
        &grammar::past(tom, verb("eat"), cake, &when(PAST[0])),
        "Tom ate the cake yesterday",
        "汤姆 昨天 把 蛋糕 吃 了",
    );
    check(
        &grammar::past(tom, verb("eat"), two, &when(PAST[0])),
        "Tom ate two cakes yesterday",
        "汤姆 昨天 吃 了 两 块 蛋糕",
    );
    check(
        &grammar::put(tom, cake, SPOTS[0], PAST[0]),
        "Tom put the cake on the table yesterday",
        "汤姆 昨天 把 蛋糕 放 在 桌子 上",
    );
    check(&grammar::give_to(tom, cake, jerry, NONE), "Tom gave the cake to Jerry", "汤姆 把 蛋糕 给 了 杰瑞");
    check(&grammar::give(tom, jerry, two, NONE), "Tom gave Jerry two cakes", "汤姆 给 了 杰瑞 两 块 蛋糕");
}

#[test]
fn comparisons() {
    let (tom, jerry, tall) = (&name("Tom"), &name("Jerry"), *find(&QUALITIES, |quality| quality.0, "tall"));
    check(&grammar::than(tom, tall, jerry), "Tom is taller than Jerry", "汤姆 比 杰瑞 高");
    check(&grammar::much_than(tom, tall, jerry), "Tom is much taller than Jerry", "汤姆 比 杰瑞 高 得 多");
    check(&grammar::as_as(tom, tall, jerry), "Tom is as tall as Jerry", "汤姆 和 杰瑞 一样 高");
    check(&grammar::not_as_as(&pronoun("I"), tall, jerry), "I am not as tall as Jerry", "我 没有 杰瑞 高");
    check(&grammar::is_than(tom, tall, &pronoun("I")), "is Tom taller than me", "汤姆 比 我 高 吗");
}

#[test]
fn triples_of_clauses() {
    let triple = |subject, verb, object| Triple { subject, verb, object };
    let cat = the("cat").that_is_done(&name("Tom"), verb("like"), Tense::Present);
    let (_, triples) = grammar::was_done(&cat, verb("chase"), &the("dog"), &Adverbs::default());
    assert_eq!(triples, [triple("Tom", "like", "cat"), triple("dog", "chase", "cat")]);
    let both = name("Tom").and(&name("Jerry"));
    let (_, triples) = grammar::past(&both, verb("see"), &pronoun("she"), &Adverbs::default());
    assert_eq!(triples, [triple("Tom", "see", "she"), triple("Jerry", "see", "she")]);
}

#[test]
fn the_showcase_is_in_the_language_and_held_out() {
    let showcase = showcase();
    let pairs: Vec<_> =
        showcase.iter().map(|sentence| (&*sentence.pair.source, &*sentence.pair.target)).collect();
    assert_eq!(
        pairs,
        [
            (SHOWCASE[0], "汤姆 每天 早上 在 厨房 里 看见 杰瑞"),
            (SHOWCASE[1], "莉莉 喜欢 的 狗 昨天 被 一 只 黑 猫 追逐 了"),
        ]
    );
    let triples: Vec<Triple> = showcase.iter().flat_map(|sentence| sentence.triples.clone()).collect();
    assert_eq!(triples, showcase_triples());
    for seed in 0..3 {
        let Sentences { train, valid, test } = sentences(seed);
        assert_eq!(test[..2], showcase);
        assert!(train.iter().chain(&valid).all(|sentence| !SHOWCASE.contains(&&*sentence.pair.source)));
    }
}

#[test]
fn no_triple_is_in_two_sets() {
    for seed in 0..3 {
        let Sentences { train, valid, test } = sentences(seed);
        let triples = |set: &[Sentence]| set.iter().flat_map(|s| s.triples.clone()).collect::<BTreeSet<_>>();
        let (train, valid, test) = (triples(&train), triples(&valid), triples(&test));
        assert!(train.is_disjoint(&valid) && train.is_disjoint(&test) && valid.is_disjoint(&test));
    }
}

#[test]
fn sets_have_their_sizes_and_all_constructions() {
    let Sentences { train, valid, test } = sentences(1);
    assert_eq!((train.len(), valid.len(), test.len()), (TRAIN, VALID, TEST));
    for set in [&train, &valid, &test] {
        for (name, share, _) in &CONSTRUCTIONS {
            let count = set.iter().filter(|sentence| sentence.construction == *name).count();
            assert!(2 * count * 100 > set.len() * share, "{count} of {name} in {}", set.len());
        }
    }
    assert_eq!(CONSTRUCTIONS.iter().map(|(_, share, _)| share).sum::<usize>(), 100);
}

#[test]
fn no_sentence_is_there_twice() {
    let DemoCorpus { train, valid, test } = corpus(1);
    let all: Vec<&str> = train.iter().chain(&valid).chain(&test).map(|pair| &*pair.source).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

/// Draws what no set keeps as well: were the same English to come out of two constructions, it would show here.
#[test]
fn an_english_sentence_has_one_translation() {
    let mut random = Random::new(1);
    let mut translations = HashMap::new();
    for _ in 0..100_000 {
        let (_, _, draw) = draw::construction(&mut random);
        let (pair, _) = draw(&mut random);
        let first = translations.entry(pair.source.clone()).or_insert_with(|| pair.target.clone());
        assert_eq!(*first, pair.target, "two translations of {:?}", pair.source);
    }
}

#[test]
fn every_word_is_in_the_training_set_often_enough() {
    for seed in 0..3 {
        let DemoCorpus { train, valid, test } = corpus(seed);
        for side in [|pair: &Pair| pair.source.clone(), |pair: &Pair| pair.target.clone()] {
            let mut counts = BTreeMap::new();
            for word in
                train.iter().flat_map(|pair| side(pair).split(' ').map(String::from).collect::<Vec<_>>())
            {
                *counts.entry(word).or_insert(0) += 1;
            }
            let rarest = counts.iter().min_by_key(|(_, count)| **count);
            assert!(rarest.is_some_and(|(_, count)| *count >= 10), "seed {seed}: {rarest:?}");
            assert!((150..350).contains(&counts.len()), "{} words", counts.len());
            for pair in valid.iter().chain(&test) {
                assert!(side(pair).split(' ').all(|word| counts.contains_key(word)), "{pair:?}");
            }
        }
    }
}

#[test]
fn sentences_are_neither_short_nor_long() {
    let DemoCorpus { train, valid, test } = corpus(1);
    for pair in train.iter().chain(&valid).chain(&test) {
        for line in [&pair.source, &pair.target] {
            assert!((3..=LONGEST).contains(&line.split(' ').count()), "{line:?}");
            assert!(!line.contains("  ") && line.trim() == line, "{line:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_corpus() {
    assert_eq!(corpus(5), corpus(5));
    assert_ne!(corpus(5), corpus(6));
}
