package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
)

type Shop struct {
	orders OrderStore
}

func (s Shop) create(c *gin.Context) {
	var draft Draft
	if err := readJSON(c, &draft); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	order, err := s.orders.Create(c.Request.Context(), draft)
	if err != nil {
		refuse(c, err)
		return
	}
	c.Header("Location", fmt.Sprintf("/orders/%d", order.ID))
	writeOrder(c, http.StatusCreated, order)
}

func (s Shop) get(c *gin.Context) {
	id, err := parseID(c.Param("id"))
	if err != nil {
		refuse(c, err)
		return
	}
	order, err := s.orders.Get(c.Request.Context(), id)
	if err != nil {
		refuse(c, err)
		return
	}
	writeOrder(c, http.StatusOK, order)
}

// ListQuery is checked by Gin, which answers for what is missing or out of range.
type ListQuery struct {
	Customer int64 `form:"customer" binding:"required"`
	After    int64 `form:"after"`
	Limit    int   `form:"limit,default=20" binding:"min=1,max=50"`
}

func (s Shop) list(c *gin.Context) {
	var query ListQuery
	if err := c.ShouldBindQuery(&query); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	page, err := s.orders.List(c.Request.Context(), query.Customer, query.After, query.Limit)
	if err != nil {
		refuse(c, err)
		return
	}
	c.JSON(http.StatusOK, page)
}

func (s Shop) setStatus(c *gin.Context) {
	condition := c.GetHeader("If-Match")
	if condition == "" {
		c.String(http.StatusPreconditionRequired, "If-Match is missing")
		return
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		refuse(c, err)
		return
	}
	var change struct {
		Status string `json:"status"`
	}
	if err := readJSON(c, &change); err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	isCurrent := func(version int) bool { return condition == tagOf(version) }
	order, err := s.orders.SetStatus(c.Request.Context(), id, change.Status, isCurrent)
	if err != nil {
		refuse(c, err)
		return
	}
	writeOrder(c, http.StatusOK, order)
}

func (s Shop) delete(c *gin.Context) {
	id, err := parseID(c.Param("id"))
	if err == nil {
		err = s.orders.Delete(c.Request.Context(), id)
	}
	if err != nil {
		refuse(c, err)
		return
	}
	c.Status(http.StatusNoContent)
}

func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errUnknown
	}
	return id, nil
}

// readJSON reads a body of at most 1 MiB. Gin's own binding would overlook what follows the first value.
func readJSON(c *gin.Context, value any) error {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, 1<<20)
	body, err := c.GetRawData()
	if err != nil {
		return err
	}
	return json.Unmarshal(body, value)
}

// refuse answers with what an error of the store means.
func refuse(c *gin.Context, err error) {
	var faults Faults
	switch {
	case errors.As(err, &faults):
		c.JSON(http.StatusUnprocessableEntity, gin.H{"errors": faults})
	case errors.Is(err, errUnknown):
		c.String(http.StatusNotFound, err.Error())
	case errors.Is(err, errStale):
		c.String(http.StatusPreconditionFailed, err.Error())
	case errors.Is(err, errConflict):
		c.String(http.StatusConflict, err.Error())
	default:
		status := statusOf(err)
		c.String(status, http.StatusText(status))
	}
}

func tagOf(version int) string {
	return fmt.Sprintf(`"%d"`, version)
}

func writeOrder(c *gin.Context, status int, order *FullOrder) {
	c.Header("ETag", tagOf(order.Version))
	c.JSON(status, order)
}
