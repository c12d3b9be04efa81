use serde::{Deserialize, Serialize};

const ADJECTIVES: [&str; 16] = [
    "amber", "brisk", "calm", "dusty", "eager", "faint", "gentle", "hollow", "ivory", "jolly", "keen",
    "lively", "mellow", "noble", "olive", "plain",
];
const NOUNS: [&str; 16] = [
    "anchor", "basket", "candle", "drum", "easel", "flask", "globe", "hammer", "inkwell", "jar", "kettle",
    "lantern", "mirror", "needle", "oar", "pillow",
];
const TAGS: [&str; 20] = [
    "attic", "bath", "cellar", "desk", "entry", "fire", "garden", "hall", "indoor", "junior", "kitchen",
    "lamp", "modern", "night", "office", "patio", "quiet", "rustic", "shelf", "travel",
];
const MATERIALS: [&str; 16] = [
    "ash", "brass", "clay", "cork", "cotton", "felt", "glass", "iron", "jute", "leather", "linen", "marble",
    "oak", "paper", "steel", "wool",
];
const CITIES: [&str; 16] = [
    "Århus", "Bern", "Córdoba", "Dublin", "Évora", "Fès", "Gdańsk", "Helsinki", "Iași", "Jerez", "Kraków",
    "Łódź", "München", "Nîmes", "大阪", "Zürich",
];

/// The query of a request.
#[derive(Deserialize)]
pub struct Page {
    from: usize,
    count: usize,
}

#[derive(Serialize)]
pub struct ItemList {
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    id: usize,
    name: String,
    price: usize,
    tags: [&'static str; 3],
    description: String,
}

impl Page {
    /// The items, unless a number is out of range.
    pub fn items(&self) -> Option<ItemList> {
        let asked = (1..=1_000_000).contains(&self.from) && (1..=500).contains(&self.count);
        asked.then(|| ItemList {
            items: (self.from..self.from + self.count).map(Item::new).collect(),
        })
    }
}

impl Item {
    fn new(id: usize) -> Self {
        let name = format!("{} {}", ADJECTIVES[id % 16], NOUNS[id / 16 % 16]);
        let description = format!(
            "The {name} no. {id} is made of {}, weighs {} g and ships from {} within {} days. \
             Customers who bought it also bought the \"{} {}\" & rate it <{} of 5>.",
            MATERIALS[id * 7 % 16],
            id * 53 % 4900 + 100,
            CITIES[id * 11 % 16],
            id % 7 + 1,
            ADJECTIVES[(id + 5) % 16],
            NOUNS[(id + 3) % 16],
            id % 5 + 1,
        );
        Self {
            id,
            name: format!("{name} {id}"),
            price: id * 37 % 9900 + 100,
            tags: [TAGS[id % 20], TAGS[(id + 7) % 20], TAGS[(id + 13) % 20]],
            description,
        }
    }
}
