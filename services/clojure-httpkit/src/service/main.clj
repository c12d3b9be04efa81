(ns service.main
  (:require [org.httpkit.server :as http]
            [service.api :as api])
  (:import (sun.misc Signal SignalHandler))
  (:gen-class))

(defn- env [name default]
  (or (System/getenv name) default))

(defn -main []
  ;; The JVM's own handler of the signal exits with 143.
  (Signal/handle (Signal. "TERM")
                 (reify SignalHandler
                   (handle [_ _] (System/exit 0))))
  (let [processors (.availableProcessors (Runtime/getRuntime))
        stop (http/run-server api/handler
                              {:ip (env "HOST" "127.0.0.1")
                               :port (Long/parseLong (env "PORT" "8080"))
                               :thread (Long/parseLong (env "WORKERS" (str processors)))})]
    (.addShutdownHook (Runtime/getRuntime)
                      (Thread. (fn [] (stop :timeout 5000))))))
