use std::sync::LazyLock;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    id: String,
    name: Name,
    gender: String,
    location: Location,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<Picture>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Name {
    title: String,
    first: String,
    last: String,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    street: String,
    city: String,
    state: String,
    post_code: i32,
}

#[derive(Clone, Serialize, Deserialize)]
struct Picture {
    large: String,
    medium: String,
    thumbnail: String,
}

#[derive(Serialize)]
pub struct PersonList {
    persons: &'static [Person],
    count: usize,
}

#[derive(Serialize)]
struct PersonLink {
    p1: &'static Person,
    p2: &'static Person,
}

#[derive(Serialize)]
pub struct PersonLinkList {
    links: Vec<PersonLink>,
    count: usize,
}

static PERSONS: LazyLock<Vec<Person>> =
    LazyLock::new(|| serde_json::from_str(include_str!("persons.json")).expect("the file is valid"));

/// Positions in `PERSONS`.
const LINKS: [(usize, usize); 4] = [(0, 1), (0, 2), (1, 2), (3, 0)];

pub async fn list() -> Json<PersonList> {
    Json(PersonList {
        persons: &PERSONS,
        count: PERSONS.len(),
    })
}

pub async fn get(Path(id): Path<String>) -> Result<Json<&'static Person>, StatusCode> {
    PERSONS
        .iter()
        .find(|person| person.id == id)
        .map(Json)
        .ok_or(StatusCode::NOT_FOUND)
}

pub async fn links(Path(id): Path<String>) -> Json<PersonLinkList> {
    let links: Vec<PersonLink> = LINKS
        .iter()
        .map(|&(p1, p2)| PersonLink {
            p1: &PERSONS[p1],
            p2: &PERSONS[p2],
        })
        .filter(|link| link.p1.id == id || link.p2.id == id)
        .collect();
    Json(PersonLinkList {
        count: links.len(),
        links,
    })
}

/// axum would answer a missing member with 422; the contract wants 400.
pub async fn create(
    person: Result<Json<Person>, JsonRejection>,
) -> Result<Json<Person>, (StatusCode, String)> {
    person.map_err(|rejection| (StatusCode::BAD_REQUEST, rejection.body_text()))
}
