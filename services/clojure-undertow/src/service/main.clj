(ns service.main
  "hello, sequence and snoop on Undertow, through its Java interface."
  (:require [service.api :as api])
  (:import (io.undertow Handlers Undertow)
           (io.undertow.server HttpHandler)
           (sun.misc Signal SignalHandler)))

(set! *warn-on-reflection* true)

(defn- env [name default]
  (or (System/getenv name) default))

(defn -main []
  ;; The JVM's own handler of the signal exits with 143.
  (Signal/handle (Signal. "TERM")
                 (reify SignalHandler
                   (handle [_ _] (System/exit 0))))
  (let [processors (.availableProcessors (Runtime/getRuntime))
        workers (parse-long (env "WORKERS" (str processors)))
        handler (Handlers/gracefulShutdown ^HttpHandler (api/routes))
        server (-> (Undertow/builder)
                   (.addHttpListener (parse-long (env "PORT" "8080")) (env "HOST" "127.0.0.1"))
                   (.setIoThreads workers)
                   (.setHandler handler)
                   (.build))]
    (.start server)
    (.addShutdownHook (Runtime/getRuntime)
                      (Thread. (fn []
                                 (.shutdown handler)
                                 (.awaitShutdown handler 5000)
                                 (.stop server))))))
