{-# LANGUAGE OverloadedStrings #-}

module Snoop (page) where

import Data.ByteString (ByteString)
import Data.ByteString.Builder (Builder, charUtf8)
import Data.CaseInsensitive (foldedCase)
import qualified Data.Text as Text
import Data.Text.Encoding (decodeUtf8With)
import Data.Text.Encoding.Error (lenientDecode)
import Network.HTTP.Types (RequestHeaders)

-- | An HTML page with a line for each header.
page :: RequestHeaders -> Builder
page headers =
  "<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n"
    <> foldMap line headers
    <> "</pre></body></html>\n"
  where
    line (name, value) = "HEADER: " <> escaped (foldedCase name) <> " = " <> escaped value <> "\n"

escaped :: ByteString -> Builder
escaped = foldMap entity . Text.unpack . decodeUtf8With lenientDecode
  where
    entity '&' = "&amp;"
    entity '<' = "&lt;"
    entity '>' = "&gt;"
    entity '"' = "&quot;"
    entity '\'' = "&#39;"
    entity character = charUtf8 character
