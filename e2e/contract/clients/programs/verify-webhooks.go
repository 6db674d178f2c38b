// Verifies recorded webhook deliveries with the Go library of Standard Webhooks.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type delivery struct {
	Name    string            `json:"name"`
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Valid   bool              `json:"valid"`
}

func main() {
	text, err := os.ReadFile(os.Getenv("MARINA_WEBHOOK_DELIVERIES"))
	if err != nil {
		log.Fatal(err)
	}
	var deliveries []delivery
	if err := json.Unmarshal(text, &deliveries); err != nil {
		log.Fatal(err)
	}
	for _, one := range deliveries {
		webhook, err := standardwebhooks.NewWebhook(one.Secret)
		if err != nil {
			log.Fatal(err)
		}
		headers := http.Header{}
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		err = webhook.Verify([]byte(one.Body), headers)
		if (err == nil) != one.Valid {
			log.Fatalf("%s: %v", one.Name, err)
		}
		fmt.Printf("%s: as expected (%v)\n", one.Name, err)
	}
}
