{-# LANGUAGE OverloadedStrings #-}

-- | A server with Scotty on Warp.
module Main (main) where

import Control.Concurrent (setNumCapabilities)
import Data.ByteString.Builder (Builder, toLazyByteString)
import Data.Char (isDigit)
import Data.Function ((&))
import Data.String (fromString)
import qualified Data.Text.Lazy as Lazy
import GHC.Conc (getNumProcessors)
import Network.HTTP.Types (status400)
import Network.Wai.Handler.Warp
import System.Environment (lookupEnv)
import System.Posix.Signals (Handler (Catch), installHandler, sigTERM)
import Web.Scotty hiding (settings)

import Sequence (count, fib)

main :: IO ()
main = do
  workers <- lookupEnv "WORKERS"
  maybe getNumProcessors (pure . read) workers >>= setNumCapabilities
  host <- maybe "127.0.0.1" fromString <$> lookupEnv "HOST"
  port <- maybe 8080 read <$> lookupEnv "PORT"
  scottyOpts (Options 0 (settings host port)) routes

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

routes :: ScottyM ()
routes = do
  get "/api/test" (text "Hello, World!")
  get "/api/count/:n" (numbers count)
  get "/api/fib/:n" (numbers fib)

-- | What 'compute' makes of n, or 400 for what is not an integer from 0 to 10,000.
numbers :: (Int -> Builder) -> ActionM ()
numbers compute = do
  written <- param "n"
  case parse written of
    Just n -> setHeader "Content-Type" "text/plain" >> raw (toLazyByteString (compute n))
    Nothing -> status status400 >> text "n must be an integer from 0 to 10000"

parse :: Lazy.Text -> Maybe Int
parse written
  | Lazy.length written `elem` [1 .. 5], Lazy.all isDigit written, n <= 10000 = Just n
  | otherwise = Nothing
  where
    n = read (Lazy.unpack written)
