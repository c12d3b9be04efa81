(ns service.api
  (:require [clojure.string :as str])
  (:import (io.undertow Handlers)
           (io.undertow.server HttpHandler HttpServerExchange RoutingHandler)
           (io.undertow.util HeaderValues Headers PathTemplateMatch)))

(set! *warn-on-reflection* true)

(defn numbers
  "The integers from 1 to n."
  [n]
  (range 1 (inc n)))

(defn fibonacci
  "F(0) to F(n)."
  [n]
  (->> [0 1]
       (iterate (fn [[a b]] [b (+' a b)]))
       (map first)
       (take (inc n))))

(defn parse-length
  "An integer from 0 to 10,000, or nil."
  [text]
  (when (re-matches #"10000|[0-9]{1,4}" text)
    (parse-long text)))

(defn- send-text [^HttpServerExchange exchange ^String type ^String body]
  (.put (.getResponseHeaders exchange) Headers/CONTENT_TYPE type)
  (.send (.getResponseSender exchange) body))

(defn- hello [exchange]
  (send-text exchange "text/plain" "Hello, World!"))

(defn- sequence-of [f]
  (fn [^HttpServerExchange exchange]
    (let [^PathTemplateMatch match (.getAttachment exchange PathTemplateMatch/ATTACHMENT_KEY)]
      (if-let [n (parse-length (get (.getParameters match) "n"))]
        (send-text exchange "text/plain" (str/join " " (f n)))
        (-> exchange (.setStatusCode 404) .endExchange)))))

(defn- escape [text]
  (str/escape text {\& "&amp;" \< "&lt;" \> "&gt;" \" "&quot;" \' "&#39;"}))

(defn- snoop [^HttpServerExchange exchange]
  (let [lines (for [^HeaderValues values (.getRequestHeaders exchange)
                    value values
                    :let [name (str/lower-case (.getHeaderName values))]]
                (str "HEADER: " (escape name) " = " (escape value) "\n"))]
    (send-text exchange "text/html; charset=utf-8"
               (str "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" (str/join lines) "</pre>\n"))))

(defn- handler ^HttpHandler [f]
  (reify HttpHandler
    (handleRequest [_ exchange] (f exchange))))

(defn routes
  "No operation blocks, so all run on the threads that do the I/O."
  ^RoutingHandler []
  (-> (Handlers/routing)
      (.get "/api/test" (handler hello))
      (.get "/api/count/{n}" (handler (sequence-of numbers)))
      (.get "/api/fib/{n}" (handler (sequence-of fibonacci)))
      (.get "/" (handler snoop))))
