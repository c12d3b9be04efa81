(ns service.api
  "A Ring handler for hello, sequence and snoop."
  (:require [clojure.string :as str])
  (:import (java.net URI URISyntaxException)))

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

(defn- response
  ([status] (response status "text/plain" nil))
  ([status type body]
   {:status status :headers {"Content-Type" type} :body body}))

(defn- sequence-of [f n]
  (response 200 "text/plain" (str/join " " (f (Long/parseLong n)))))

(defn- escape [text]
  (str/escape text {\& "&amp;" \< "&lt;" \> "&gt;" \" "&quot;" \' "&#39;"}))

(defn- snoop
  "http-kit has each name once, in lower case: 2.8 joins the values of a repeated one with a newline, 2.1 gives a list."
  [headers]
  (let [lines (for [[name values] headers
                    value (if (string? values) (str/split values #"\n" -1) values)]
                (str "HEADER: " (escape name) " = " (escape value) "\n"))]
    (response 200 "text/html; charset=utf-8"
              (str "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" (str/join lines) "</pre>\n"))))

(defn- decode
  "The path with its escapes undone, or nil."
  [uri]
  (try (.getPath (URI. uri))
       (catch URISyntaxException _ nil)))

(defn- route
  "The function that answers a GET of the path, or nil."
  [path]
  (let [[_ operation n] (re-matches #"/api/(count|fib)/(10000|[0-9]{1,4})" path)]
    (cond
      (= path "/api/test") (fn [_] (response 200 "text/plain" "Hello, World!"))
      (= path "/") (comp snoop :headers)
      (= operation "count") (fn [_] (sequence-of numbers n))
      (= operation "fib") (fn [_] (sequence-of fibonacci n)))))

(defn handler [{:keys [request-method uri] :as request}]
  (if-let [path (decode uri)]
    (if-let [answer (route path)]
      (if (= request-method :get)
        (answer request)
        (response 405))
      (response 404))
    (response 400)))
