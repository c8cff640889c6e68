//! The words of the demo corpus, both languages side by side.
//!
//! A Chinese entry of several tokens has spaces between them, as in the corpus itself.

use Class::{Deed, Disposal, Errand, Feeling, Making, Outcome};
use Objects::{Anything, Beings, Things};

/// An English expression and its translation.
pub(super) type Words = (&'static str, &'static str);

/// Where there could be a word, and is none.
pub(super) const NONE: Words = ("", "");

#[rustfmt::skip]
pub(super) static NAMES: [Words; 8] = [
    ("Tom",   "汤姆"),
    ("Jerry", "杰瑞"),
    ("Anna",  "安娜"),
    ("Peter", "彼得"),
    ("Lily",  "莉莉"),
    ("Jack",  "杰克"),
    ("Mary",  "玛丽"),
    ("David", "大卫"),
];

/// As subject, as object, in Chinese.
#[rustfmt::skip]
pub(super) static PRONOUNS: [(&str, &str, &str); 6] = [
    ("I",    "me",   "我"),
    ("you",  "you",  "你"),
    ("he",   "him",  "他"),
    ("she",  "her",  "她"),
    ("we",   "us",   "我们"),
    ("they", "them", "他们"),
];

#[rustfmt::skip]
pub(super) static POSSESSIVES: [Words; 14] = [
    ("my",      "我 的"),
    ("your",    "你 的"),
    ("his",     "他 的"),
    ("her",     "她 的"),
    ("our",     "我们 的"),
    ("their",   "他们 的"),
    ("Tom's",   "汤姆 的"),
    ("Jerry's", "杰瑞 的"),
    ("Anna's",  "安娜 的"),
    ("Peter's", "彼得 的"),
    ("Lily's",  "莉莉 的"),
    ("Jack's",  "杰克 的"),
    ("Mary's",  "玛丽 的"),
    ("David's", "大卫 的"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    One,
    Many,
}

#[derive(Debug)]
pub(super) struct Determiner {
    pub(super) en: &'static str,
    pub(super) zh: &'static str,
    pub(super) number: Number,
    /// Whether a classifier follows: 这 只 猫, but 这些 猫.
    pub(super) classifier: bool,
    /// Whether it is known which one is meant: 把 takes no other.
    pub(super) definite: bool,
}

const fn determiner(
    en: &'static str,
    zh: &'static str,
    number: Number,
    classifier: bool,
    definite: bool,
) -> Determiner {
    Determiner { en, zh, number, classifier, definite }
}

#[rustfmt::skip]
pub(super) static DETERMINERS: [Determiner; 11] = [
    determiner("the",   "",     Number::One,  false, true),
    determiner("the",   "那些", Number::Many, false, true),
    determiner("this",  "这",   Number::One,  true,  true),
    determiner("that",  "那",   Number::One,  true,  true),
    determiner("these", "这些", Number::Many, false, true),
    determiner("those", "那些", Number::Many, false, true),
    determiner("a",     "一",   Number::One,  true,  false),
    determiner("two",   "两",   Number::Many, true,  false),
    determiner("three", "三",   Number::Many, true,  false),
    determiner("some",  "一些", Number::Many, false, false),
    determiner("many",  "很多", Number::Many, false, false),
];

pub(super) static THE: &Determiner = &DETERMINERS[0];
pub(super) static THE_MANY: &Determiner = &DETERMINERS[1];
pub(super) static A: &Determiner = &DETERMINERS[6];

/// What a noun stands for: it decides which adjectives go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Animal,
    Adult,
    Child,
    Food,
    Thing,
}

#[derive(Debug)]
pub(super) struct Noun {
    pub(super) singular: &'static str,
    pub(super) plural: &'static str,
    pub(super) zh: &'static str,
    /// The word that stands between a number and the noun: 两 只 猫.
    pub(super) classifier: &'static str,
    pub(super) kind: Kind,
}

const fn noun(
    singular: &'static str,
    plural: &'static str,
    zh: &'static str,
    classifier: &'static str,
    kind: Kind,
) -> Noun {
    Noun { singular, plural, zh, classifier, kind }
}

/// Nouns that can do something.
#[rustfmt::skip]
pub(super) static BEINGS: [Noun; 15] = [
    noun("cat",     "cats",     "猫",   "只", Kind::Animal),
    noun("dog",     "dogs",     "狗",   "只", Kind::Animal),
    noun("mouse",   "mice",     "老鼠", "只", Kind::Animal),
    noun("rabbit",  "rabbits",  "兔子", "只", Kind::Animal),
    noun("bird",    "birds",    "鸟",   "只", Kind::Animal),
    noun("monkey",  "monkeys",  "猴子", "只", Kind::Animal),
    noun("horse",   "horses",   "马",   "匹", Kind::Animal),
    noun("bear",    "bears",    "熊",   "头", Kind::Animal),
    noun("teacher", "teachers", "老师", "位", Kind::Adult),
    noun("doctor",  "doctors",  "医生", "位", Kind::Adult),
    noun("farmer",  "farmers",  "农民", "个", Kind::Adult),
    noun("child",   "children", "孩子", "个", Kind::Child),
    noun("girl",    "girls",    "女孩", "个", Kind::Child),
    noun("boy",     "boys",     "男孩", "个", Kind::Child),
    noun("student", "students", "学生", "个", Kind::Child),
];

/// Nouns to which something is done.
#[rustfmt::skip]
pub(super) static THINGS: [Noun; 13] = [
    noun("apple",   "apples",   "苹果",   "个", Kind::Food),
    noun("banana",  "bananas",  "香蕉",   "根", Kind::Food),
    noun("cake",    "cakes",    "蛋糕",   "块", Kind::Food),
    noun("book",    "books",    "书",     "本", Kind::Thing),
    noun("letter",  "letters",  "信",     "封", Kind::Thing),
    noun("hat",     "hats",     "帽子",   "顶", Kind::Thing),
    noun("cup",     "cups",     "杯子",   "个", Kind::Thing),
    noun("door",    "doors",    "门",     "扇", Kind::Thing),
    noun("window",  "windows",  "窗户",   "扇", Kind::Thing),
    noun("shirt",   "shirts",   "衬衫",   "件", Kind::Thing),
    noun("photo",   "photos",   "照片",   "张", Kind::Thing),
    noun("map",     "maps",     "地图",   "张", Kind::Thing),
    noun("bicycle", "bicycles", "自行车", "辆", Kind::Thing),
];

/// An adjective before a noun. Of two syllables or more it takes 的; *old* depends on what is old.
#[rustfmt::skip]
pub(super) static ADJECTIVES: [(&str, &str, &[Kind]); 14] = [
    ("big",    "大",      &[Kind::Animal, Kind::Food]),
    ("small",  "小",      &[Kind::Animal, Kind::Food]),
    ("black",  "黑",      &[Kind::Animal, Kind::Thing]),
    ("white",  "白",      &[Kind::Animal, Kind::Thing]),
    ("red",    "红",      &[Kind::Thing]),
    ("new",    "新",      &[Kind::Thing]),
    ("old",    "旧",      &[Kind::Thing]),
    ("old",    "年老 的", &[Kind::Adult]),
    ("young",  "年轻 的", &[Kind::Adult]),
    ("kind",   "善良 的", &[Kind::Adult, Kind::Child]),
    ("clever", "聪明 的", &[Kind::Animal, Kind::Adult, Kind::Child]),
    ("brave",  "勇敢 的", &[Kind::Animal, Kind::Child]),
    ("lazy",   "懒惰 的", &[Kind::Animal, Kind::Child]),
    ("hungry", "饥饿 的", &[Kind::Animal, Kind::Child]),
];

/// Adjectives that compare: as they are, compared, in Chinese.
#[rustfmt::skip]
pub(super) static QUALITIES: [(&str, &str, &str); 8] = [
    ("big",    "bigger",   "大"),
    ("small",  "smaller",  "小"),
    ("tall",   "taller",   "高"),
    ("fast",   "faster",   "快"),
    ("strong", "stronger", "强壮"),
    ("clever", "cleverer", "聪明"),
    ("brave",  "braver",   "勇敢"),
    ("lazy",   "lazier",   "懒惰"),
];

/// What a verb can do in a Chinese sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Goes with 了, 不 and 被.
    Deed,
    /// Names its own outcome, as 看见 does: goes with 了 and 被, but not with a bare 不.
    Outcome,
    /// Goes with 了 and 不, but not with 被.
    Errand,
    /// A state: no 了, no 被.
    Feeling,
    /// Does something to a thing: goes with 了, 被 and 把.
    Disposal,
    /// Brings a thing about: goes with 了, but not with 被 or 把.
    Making,
}

/// What a verb can be done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objects {
    Beings,
    Anything,
    Things(&'static [&'static str]),
}

#[derive(Debug)]
pub(super) struct Verb {
    pub(super) base: &'static str,
    /// With *he*, *she* and *it*.
    pub(super) third: &'static str,
    pub(super) past: &'static str,
    pub(super) participle: &'static str,
    pub(super) zh: &'static str,
    pub(super) class: Class,
    pub(super) objects: Objects,
}

const fn verb(forms: [&'static str; 4], zh: &'static str, class: Class, objects: Objects) -> Verb {
    let [base, third, past, participle] = forms;
    Verb { base, third, past, participle, zh, class, objects }
}

/// What can be bought.
static GOODS: [&str; 9] = ["apple", "banana", "cake", "book", "hat", "cup", "shirt", "map", "bicycle"];

#[rustfmt::skip]
pub(super) static VERBS: [Verb; 28] = [
    verb(["chase",   "chases",   "chased",    "chased"],    "追逐", Deed, Beings),
    verb(["follow",  "follows",  "followed",  "followed"],  "跟踪", Deed, Beings),
    verb(["protect", "protects", "protected", "protected"], "保护", Deed, Beings),
    verb(["praise",  "praises",  "praised",   "praised"],   "表扬", Deed, Beings),
    verb(["invite",  "invites",  "invited",   "invited"],   "邀请", Deed, Beings),

    verb(["see",   "sees",    "saw",    "seen"],   "看见", Outcome, Anything),
    verb(["find",  "finds",   "found",  "found"],  "找到", Outcome, Anything),
    verb(["hear",  "hears",   "heard",  "heard"],  "听见", Outcome, Beings),
    verb(["catch", "catches", "caught", "caught"], "抓住", Outcome, Beings),
    verb(["wake",  "wakes",   "woke",   "woken"],  "叫醒", Outcome, Beings),

    verb(["help",     "helps",     "helped",     "helped"],     "帮助", Errand, Beings),
    verb(["thank",    "thanks",    "thanked",    "thanked"],    "感谢", Errand, Beings),
    verb(["visit",    "visits",    "visited",    "visited"],    "看望", Errand, Beings),
    verb(["wait for", "waits for", "waited for", "waited for"], "等",   Errand, Beings),
    verb(["look for", "looks for", "looked for", "looked for"], "寻找", Errand, Anything),

    verb(["like",  "likes",  "liked",   "liked"],   "喜欢", Feeling, Anything),
    verb(["love",  "loves",  "loved",   "loved"],   "爱",   Feeling, Beings),
    verb(["know",  "knows",  "knew",    "known"],   "认识", Feeling, Beings),
    verb(["trust", "trusts", "trusted", "trusted"], "信任", Feeling, Beings),

    verb(["eat",   "eats",   "ate",    "eaten"],  "吃",   Disposal, Things(&["apple", "banana", "cake"])),
    verb(["wash",  "washes", "washed", "washed"], "洗",   Disposal, Things(&["apple", "cup", "shirt", "bicycle"])),
    verb(["open",  "opens",  "opened", "opened"], "打开", Disposal, Things(&["door", "window", "letter"])),
    verb(["close", "closes", "closed", "closed"], "关上", Disposal, Things(&["door", "window"])),
    verb(["break", "breaks", "broke",  "broken"], "打破", Disposal, Things(&["cup", "window"])),
    verb(["lose",  "loses",  "lost",   "lost"],   "弄丢", Disposal, Things(&["hat", "book", "letter", "photo", "map"])),
    verb(["sell",  "sells",  "sold",   "sold"],   "卖",   Disposal, Things(&["book", "bicycle", "hat", "map", "cake"])),

    verb(["buy",   "buys",   "bought", "bought"],  "买", Making, Things(&GOODS)),
    verb(["write", "writes", "wrote",  "written"], "写", Making, Things(&["letter", "book"])),
];

/// What is said before a verb: with *he* and with *they*, denied with both, in Chinese.
#[derive(Debug)]
pub(super) struct Modal {
    pub(super) third: &'static str,
    pub(super) base: &'static str,
    pub(super) not_third: &'static str,
    pub(super) not_base: &'static str,
    pub(super) zh: &'static str,
}

const fn modal(third: &'static str, base: &'static str, not: [&'static str; 2], zh: &'static str) -> Modal {
    Modal { third, base, not_third: not[0], not_base: not[1], zh }
}

#[rustfmt::skip]
pub(super) static MODALS: [Modal; 3] = [
    modal("will",     "will",    ["will not",         "will not"],       "会"),
    modal("can",      "can",     ["cannot",           "cannot"],         "能"),
    modal("wants to", "want to", ["does not want to", "do not want to"], "想"),
];

pub(super) static WILL: &Modal = &MODALS[0];

/// What can be given away, and put somewhere.
pub(super) static PORTABLE: [&str; 9] =
    ["apple", "banana", "cake", "book", "letter", "hat", "cup", "photo", "map"];

/// Where something is put.
#[rustfmt::skip]
pub(super) static SPOTS: [Words; 5] = [
    ("on the table",    "桌子 上"),
    ("on the chair",    "椅子 上"),
    ("on the bed",      "床 上"),
    ("under the table", "桌子 下"),
    ("in the box",      "盒子 里"),
];

/// Where something happens. In Chinese the preposition of place follows its noun.
#[rustfmt::skip]
pub(super) static PLACES: [Words; 17] = [
    ("in the kitchen",           "厨房 里"),
    ("in the garden",            "花园 里"),
    ("in the park",              "公园 里"),
    ("in the forest",            "森林 里"),
    ("in the library",           "图书馆 里"),
    ("in the shop",              "商店 里"),
    ("in the house",             "房子 里"),
    ("at school",                "学校 里"),
    ("at home",                  "家 里"),
    ("on the street",            "街 上"),
    ("on the roof",              "屋顶 上"),
    ("under the tree",           "树 下"),
    ("behind the house",         "房子 后面"),
    ("behind the tree",          "树 后面"),
    ("behind the shop",          "商店 后面"),
    ("in front of the house",    "房子 前面"),
    ("in front of the library",  "图书馆 前面"),
];

#[rustfmt::skip]
pub(super) static HABITUAL: [Words; 4] = [
    ("every day",     "每天"),
    ("every morning", "每天 早上"),
    ("every evening", "每天 晚上"),
    ("on Sundays",    "每个 星期天"),
];

#[rustfmt::skip]
pub(super) static PAST: [Words; 4] = [
    ("yesterday",    "昨天"),
    ("last night",   "昨天 晚上"),
    ("this morning", "今天 早上"),
    ("last week",    "上个 星期"),
];

#[rustfmt::skip]
pub(super) static FUTURE: [Words; 4] = [
    ("tomorrow",         "明天"),
    ("tomorrow morning", "明天 早上"),
    ("tonight",          "今天 晚上"),
    ("next week",        "下个 星期"),
];

#[rustfmt::skip]
pub(super) static FREQUENCIES: [Words; 4] = [
    ("often",     "经常"),
    ("always",    "总是"),
    ("sometimes", "有时"),
    ("rarely",    "很少"),
];

/// How something is done, and the verbs that can be done so.
#[rustfmt::skip]
pub(super) static MANNERS: [(&str, &str, &[&str]); 4] = [
    ("quickly",   "飞快 地", &["chase", "eat", "wash", "open", "close"]),
    ("quietly",   "悄悄 地", &["follow", "protect", "look for", "open", "close"]),
    ("carefully", "小心 地", &["follow", "protect", "wash", "open", "close"]),
    ("happily",   "高兴 地", &["chase", "help", "visit", "thank", "invite", "eat"]),
];

/// The entry of a table whose English is `en`.
pub(super) fn find<T>(table: &'static [T], en: impl Fn(&T) -> &'static str, wanted: &str) -> &'static T {
    table
        .iter()
        .find(|entry| en(entry) == wanted)
        .unwrap_or_else(|| panic!("no word {wanted:?} in the table"))
}
