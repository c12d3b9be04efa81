package service

import com.google.protobuf.TextFormat
import io.grpc.Status
import io.grpc.stub.StreamObserver
import prony.person.PersonOuterClass._
import prony.person.PersonServiceGrpc.PersonServiceImplBase
import scala.collection.JavaConverters._
import scala.io.{Codec, Source}

class People extends PersonServiceImplBase {
  private val all: PersonList = {
    val source = Source.fromResource("people.txtpb")(Codec.UTF8)
    try {
      val builder = PersonList.newBuilder()
      TextFormat.merge(source.mkString, builder)
      builder.build()
    } finally source.close()
  }

  private val links: Seq[PersonLink] =
    for ((p1, p2) <- Seq((1, 2), (1, 3), (2, 3), (4, 1)))
      yield PersonLink.newBuilder().setP1(all.getPersons(p1 - 1)).setP2(all.getPersons(p2 - 1)).build()

  override def listPersons(request: Empty, observer: StreamObserver[PersonList]): Unit =
    reply(observer, all)

  override def getPerson(request: PersonId, observer: StreamObserver[Person]): Unit =
    all.getPersonsList.asScala.find(_.getId == request.getId) match {
      case Some(person) => reply(observer, person)
      case None => observer.onError(Status.NOT_FOUND.withDescription("no such person").asException)
    }

  override def getPersonLinks(request: PersonId, observer: StreamObserver[PersonLinkList]): Unit = {
    val id = request.getId
    val found = links.filter(link => link.getP1.getId == id || link.getP2.getId == id)
    reply(observer, PersonLinkList.newBuilder().addAllLinks(found.asJava).setCount(found.size).build())
  }

  override def createPerson(request: Person, observer: StreamObserver[Person]): Unit =
    if (request.getId.isEmpty)
      observer.onError(Status.INVALID_ARGUMENT.withDescription("id is missing").asException)
    else reply(observer, request)

  private def reply[A](observer: StreamObserver[A], message: A): Unit = {
    observer.onNext(message)
    observer.onCompleted()
  }
}
