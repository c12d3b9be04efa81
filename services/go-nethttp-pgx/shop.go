package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

type Shop struct {
	orders OrderStore
}

func (s Shop) create(w http.ResponseWriter, r *http.Request) {
	var draft Draft
	if err := readJSON(w, r, &draft); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	order, err := s.orders.Create(r.Context(), draft)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", order.ID))
	writeOrder(w, http.StatusCreated, order)
}

func (s Shop) get(w http.ResponseWriter, r *http.Request) {
	id, err := parseID(r.PathValue("id"))
	if err != nil {
		refuse(w, err)
		return
	}
	order, err := s.orders.Get(r.Context(), id)
	if err != nil {
		refuse(w, err)
		return
	}
	writeOrder(w, http.StatusOK, order)
}

func (s Shop) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	customer, err := strconv.ParseInt(query.Get("customer"), 10, 64)
	after, err2 := optional(query.Has("after"), query.Get("after"), 0)
	limit, err3 := optional(query.Has("limit"), query.Get("limit"), 20)
	if errors.Join(err, err2, err3) != nil || limit < 1 || limit > 50 {
		http.Error(w, "customer and after are integers, limit is one from 1 to 50", http.StatusBadRequest)
		return
	}
	page, err := s.orders.List(r.Context(), customer, after, int(limit))
	if err != nil {
		refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, page)
}

func (s Shop) setStatus(w http.ResponseWriter, r *http.Request) {
	condition := r.Header.Get("If-Match")
	if condition == "" {
		http.Error(w, "If-Match is missing", http.StatusPreconditionRequired)
		return
	}
	id, err := parseID(r.PathValue("id"))
	if err != nil {
		refuse(w, err)
		return
	}
	var change struct {
		Status string `json:"status"`
	}
	if err := readJSON(w, r, &change); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	isCurrent := func(version int) bool { return condition == tagOf(version) }
	order, err := s.orders.SetStatus(r.Context(), id, change.Status, isCurrent)
	if err != nil {
		refuse(w, err)
		return
	}
	writeOrder(w, http.StatusOK, order)
}

func (s Shop) delete(w http.ResponseWriter, r *http.Request) {
	id, err := parseID(r.PathValue("id"))
	if err == nil {
		err = s.orders.Delete(r.Context(), id)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errUnknown
	}
	return id, nil
}

func optional(given bool, text string, otherwise int64) (int64, error) {
	if !given {
		return otherwise, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// readJSON reads a body of at most 1 MiB.
func readJSON(w http.ResponseWriter, r *http.Request, value any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return err
	}
	return json.Unmarshal(body, value)
}

// refuse answers with what an error of the store means.
func refuse(w http.ResponseWriter, err error) {
	var faults Faults
	switch {
	case errors.As(err, &faults):
		writeJSON(w, http.StatusUnprocessableEntity, map[string]Faults{"errors": faults})
	case errors.Is(err, errUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, errStale):
		http.Error(w, err.Error(), http.StatusPreconditionFailed)
	case errors.Is(err, errConflict):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		status := statusOf(err)
		http.Error(w, http.StatusText(status), status)
	}
}

func tagOf(version int) string {
	return fmt.Sprintf(`"%d"`, version)
}

func writeOrder(w http.ResponseWriter, status int, order *FullOrder) {
	w.Header().Set("ETag", tagOf(order.Version))
	writeJSON(w, status, order)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}
