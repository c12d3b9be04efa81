{-# LANGUAGE OverloadedStrings #-}

module Sequence (count, fib, withN) where

import Data.ByteString.Builder (Builder, char7, intDec, integerDec)
import Data.Char (isDigit)
import Data.List (intersperse)
import Data.Text (Text)
import qualified Data.Text as Text
import Network.HTTP.Types (status200, status400)
import Network.Wai (Response)

import Reply (plain)

largestN :: Int
largestN = 10000

-- | The answer for n, or 400 for what is not an integer from 0 to 'largestN'.
withN :: Text -> (Int -> Builder) -> Response
withN text compute
  | Text.length text `elem` [1 .. 5], Text.all isDigit text, n <= largestN = plain status200 (compute n)
  | otherwise = plain status400 "n must be an integer from 0 to 10000"
  where
    n = read (Text.unpack text)

count :: Int -> Builder
count n = spaced (map intDec [1 .. n])

fib :: Int -> Builder
fib n = spaced (map integerDec (take (n + 1) numbers))
  where
    numbers = map fst (iterate (\(a, b) -> (b, a + b)) (0, 1))

spaced :: [Builder] -> Builder
spaced = mconcat . intersperse (char7 ' ')
