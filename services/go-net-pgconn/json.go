package main

import "strconv"

// appendText writes a text in quotes.
func appendText(out, text []byte) []byte {
	out = append(out, '"')
	begin := 0
	for i, character := range text {
		if character >= ' ' && character != '"' && character != '\\' {
			continue
		}
		out = append(out, text[begin:i]...)
		if character >= ' ' {
			out = append(out, '\\', character)
		} else {
			out = append(out, '\\', 'u', '0', '0', "0123456789abcdef"[character>>4], "0123456789abcdef"[character&15])
		}
		begin = i + 1
	}
	return append(append(out, text[begin:]...), '"')
}

// appendOrder writes the members of an order, without its end. Numbers are as PostgreSQL wrote them.
func appendOrder(out []byte, columns [][]byte) []byte {
	out = append(append(out, `{"id":`...), columns[0]...)
	out = append(append(out, `,"customerId":`...), columns[1]...)
	out = append(append(append(out, `,"status":"`...), columns[2]...), `","note":`...)
	if columns[3] == nil {
		out = append(out, "null"...)
	} else {
		out = appendText(out, columns[3])
	}
	out = append(append(out, `,"totalCents":`...), columns[4]...)
	return append(append(out, `,"version":`...), columns[5]...)
}

// appendLine writes a line of an order and a comma: product, quantity, price.
func appendLine(out []byte, columns [][]byte) []byte {
	out = append(append(out, `{"productId":`...), columns[0]...)
	out = append(append(out, `,"quantity":`...), columns[1]...)
	out = append(append(out, `,"priceCents":`...), columns[2]...)
	return append(out, "},"...)
}

func appendFaults(out []byte, faults Faults) []byte {
	out = append(out, `{"errors":[`...)
	for i, fault := range faults {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, `{"field":"`...), fault.Field...)
		out = append(append(append(out, `","code":"`...), fault.Code...), `"}`...)
	}
	return append(out, "]}"...)
}

func text(number int64) []byte { return strconv.AppendInt(nil, number, 10) }

// array writes numbers as PostgreSQL reads an array.
func array(numbers []int64) []byte {
	out := []byte{'{'}
	for i, number := range numbers {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, number, 10)
	}
	return append(out, '}')
}
