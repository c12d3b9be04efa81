{-# LANGUAGE OverloadedStrings #-}

module Reply (plain, html) where

import qualified Data.ByteString.Char8 as Char8
import Data.ByteString (ByteString)
import Data.ByteString.Builder (Builder, toLazyByteString)
import qualified Data.ByteString.Lazy as Lazy
import Network.HTTP.Types (Status, status200)
import Network.Wai (Response, responseLBS)

plain :: Status -> Builder -> Response
plain = sized "text/plain"

html :: Builder -> Response
html = sized "text/html; charset=utf-8" status200

-- | Where no length is told, Warp sends chunks, and closes the connection after HEAD.
sized :: ByteString -> Status -> Builder -> Response
sized contentType status builder =
  responseLBS status [("Content-Type", contentType), ("Content-Length", Char8.pack (show (Lazy.length body)))] body
  where
    body = toLazyByteString builder
