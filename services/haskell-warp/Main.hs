{-# LANGUAGE OverloadedStrings #-}

-- | A server with Warp.
module Main (main) where

import Control.Concurrent (setNumCapabilities)
import Data.Function ((&))
import Data.String (fromString)
import Data.Text (Text)
import GHC.Conc (getNumProcessors)
import Network.HTTP.Types (methodGet, methodHead, status200, status404, status405)
import Network.Wai (Application, Response, pathInfo, requestHeaders, requestMethod)
import Network.Wai.Handler.Warp
import System.Environment (lookupEnv)
import System.Posix.Signals (Handler (Catch), installHandler, sigTERM)

import Reply (html, plain)
import Sequence (count, fib, withN)
import Snoop (page)

main :: IO ()
main = do
  workers <- lookupEnv "WORKERS"
  maybe getNumProcessors (pure . read) workers >>= setNumCapabilities
  host <- maybe "127.0.0.1" fromString <$> lookupEnv "HOST"
  port <- maybe 8080 read <$> lookupEnv "PORT"
  runSettings (settings host port) application

settings :: HostPreference -> Port -> Settings
settings host port =
  defaultSettings
    & setHost host
    & setPort port
    & setInstallShutdownHandler (\close -> () <$ installHandler sigTERM (Catch close) Nothing)
    -- Without it a stop waits for clients that keep their connection open.
    & setGracefulShutdownTimeout (Just 2)
    -- By default broken requests are logged.
    & setOnException (\_ _ -> pure ())

application :: Application
application request respond
  | requestMethod request `notElem` [methodGet, methodHead] = respond (plain status405 "only GET")
  | otherwise = respond (route (pathInfo request))
  where
    route :: [Text] -> Response
    route ["api", "test"] = plain status200 "Hello, World!"
    route ["api", "count", n] = withN n count
    route ["api", "fib", n] = withN n fib
    route [] = html (page (requestHeaders request))
    route _ = plain status404 "no such path"
