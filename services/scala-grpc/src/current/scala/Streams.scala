package service

import io.grpc.Status
import io.grpc.stub.{ServerCallStreamObserver, StreamObserver}
import java.util.concurrent.{Executors, TimeUnit}
import prony.stream.*
import prony.stream.StreamServiceGrpc.StreamService
import scala.annotation.tailrec

private val MostTicks = 10_000
private val LongestGapUs = 1_000_000

object Streams extends StreamService:
  private val timer = Executors.newScheduledThreadPool(
    Runtime.getRuntime.availableProcessors,
    task =>
      val thread = Thread(task, "timer")
      thread.setDaemon(true)
      thread
  )

  def tick(request: TickRequest, observer: StreamObserver[Tick]): Unit =
    if request.count < 1 || request.count > MostTicks then refuse(observer, s"count is 1 to $MostTicks")
    else if request.gapUs < 0 || request.gapUs > LongestGapUs then refuse(observer, s"gap_us is 0 to $LongestGapUs")
    else
      val call = serverCall(observer)
      val ticks = Ticks(call, request)
      if request.gapUs == 0 then call.setOnReadyHandler(() => ticks.sendReady()) else ticks.sendNext()

  def sum(observer: StreamObserver[Sum]): StreamObserver[Number] = new StreamObserver[Number]:
    private var sum = Sum()

    def onNext(number: Number): Unit = sum = Sum(sum.count + 1, sum.total + number.value)
    def onError(cancelled: Throwable): Unit = ()
    def onCompleted(): Unit =
      observer.onNext(sum)
      observer.onCompleted()

  def echo(observer: StreamObserver[Message]): StreamObserver[Message] =
    val call = serverCall(observer)
    // The next message is asked for when the client takes what it is answered with.
    call.disableAutoRequest()
    var waits = true
    call.setOnReadyHandler: () =>
      if waits then
        waits = false
        call.request(1)
    new StreamObserver[Message]:
      def onNext(message: Message): Unit =
        call.onNext(message)
        if call.isReady then call.request(1) else waits = true
      def onError(cancelled: Throwable): Unit = ()
      def onCompleted(): Unit = call.onCompleted()

  private def serverCall[A](observer: StreamObserver[A]): ServerCallStreamObserver[A] =
    val call = observer.asInstanceOf[ServerCallStreamObserver[A]]
    // Without a handler, what is sent after the client has left would throw.
    call.setOnCancelHandler(() => ())
    call

  private def refuse(observer: StreamObserver[Tick], why: String): Unit =
    observer.onError(Status.INVALID_ARGUMENT.withDescription(why).asException)

  /** The messages of one call. */
  private class Ticks(call: ServerCallStreamObserver[Tick], request: TickRequest):
    private var sent = 0

    /** Sends as many as the client takes now. */
    @tailrec final def sendReady(): Unit =
      if sent < request.count && call.isReady then
        send()
        sendReady()

    /** Sends one, and the next one when its time has come. */
    def sendNext(): Unit =
      if !call.isCancelled then
        send()
        if sent < request.count then
          timer.schedule((() => sendNext()): Runnable, request.gapUs, TimeUnit.MICROSECONDS)

    private def send(): Unit =
      sent += 1
      call.onNext(Tick(sent, request.count))
      if sent == request.count then call.onCompleted()
