use tonic::{Request, Response, Status};

use messages::person_service_server::PersonService;
pub use messages::person_service_server::SERVICE_NAME;
use messages::{Empty, Person, PersonId, PersonLink, PersonLinkList, PersonList};

pub mod messages {
    tonic::include_proto!("prony.person");
}

pub struct People {
    persons: Vec<Person>,
    links: Vec<PersonLink>,
}

impl People {
    pub fn read() -> Self {
        let persons: Vec<Person> =
            serde_json::from_str(include_str!("persons.json")).expect("the file is valid");
        let links = [(0, 1), (0, 2), (1, 2), (3, 0)]
            .map(|(p1, p2): (usize, usize)| PersonLink {
                p1: Some(persons[p1].clone()),
                p2: Some(persons[p2].clone()),
            })
            .to_vec();
        Self { persons, links }
    }
}

#[tonic::async_trait]
impl PersonService for People {
    async fn list_persons(&self, _: Request<Empty>) -> Result<Response<PersonList>, Status> {
        let persons = self.persons.clone();
        Ok(Response::new(PersonList {
            count: length(&persons),
            persons,
        }))
    }

    async fn get_person(&self, request: Request<PersonId>) -> Result<Response<Person>, Status> {
        let PersonId { id } = request.into_inner();
        let person = self.persons.iter().find(|person| person.id == id);
        person
            .cloned()
            .map(Response::new)
            .ok_or_else(|| Status::not_found("no person has this id"))
    }

    async fn get_person_links(&self, request: Request<PersonId>) -> Result<Response<PersonLinkList>, Status> {
        let PersonId { id } = request.into_inner();
        let has_id = |person: &Option<Person>| person.as_ref().is_some_and(|person| person.id == id);
        let links: Vec<PersonLink> = self
            .links
            .iter()
            .filter(|link| has_id(&link.p1) || has_id(&link.p2))
            .cloned()
            .collect();
        Ok(Response::new(PersonLinkList {
            count: length(&links),
            links,
        }))
    }

    async fn create_person(&self, request: Request<Person>) -> Result<Response<Person>, Status> {
        let person = request.into_inner();
        if person.id.is_empty() {
            return Err(Status::invalid_argument("the person has no id"));
        }
        Ok(Response::new(person))
    }
}

fn length<T>(list: &[T]) -> i32 {
    i32::try_from(list.len()).expect("there are few people")
}
