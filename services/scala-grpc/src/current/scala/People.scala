package service

import io.grpc.Status
import prony.person.*
import prony.person.PersonServiceGrpc.PersonService
import scala.concurrent.Future
import scala.io.{Codec, Source}
import scala.util.Using

object People extends PersonService:
  private val all: PersonList =
    Using.resource(Source.fromResource("people.txtpb")(using Codec.UTF8)): source =>
      PersonList.fromAscii(source.mkString)

  private val links: Seq[PersonLink] =
    for (p1, p2) <- Seq((1, 2), (1, 3), (2, 3), (4, 1))
    yield PersonLink(Some(all.persons(p1 - 1)), Some(all.persons(p2 - 1)))

  def listPersons(request: Empty): Future[PersonList] = Future.successful(all)

  def getPerson(request: PersonId): Future[Person] =
    all.persons.find(_.id == request.id) match
      case Some(person) => Future.successful(person)
      case None => Future.failed(Status.NOT_FOUND.withDescription("no such person").asException)

  def getPersonLinks(request: PersonId): Future[PersonLinkList] =
    val found = links.filter(link => link.getP1.id == request.id || link.getP2.id == request.id)
    Future.successful(PersonLinkList(found, found.size))

  def createPerson(request: Person): Future[Person] =
    if request.id.isEmpty then
      Future.failed(Status.INVALID_ARGUMENT.withDescription("id is missing").asException)
    else Future.successful(request)
