(defproject service "1"
  :description "hello, sequence and snoop on http-kit"
  :dependencies [[org.clojure/clojure "1.12.0"]
                 [http-kit "2.8.0"]]
  :local-repo ~(System/getenv "PRONY_M2")
  :main service.main
  :aot [service.main]
  :uberjar-name "service.jar"
  :profiles {:era {:dependencies [[http-kit "2.1.8"]
                                  ;; The JDK has lost it.
                                  [javax.xml.bind/jaxb-api "2.3.1"]]}})
