// Command kstatus answers for each JSON object on a line of its input with a line that holds the status which
// sigs.k8s.io/cli-utils computes for it, as Flux and kpt do.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Larger than what etcd stores of one object.
const maxLineBytes = 4 << 20

type answer struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func compute(line []byte) (answer, error) {
	var object unstructured.Unstructured
	// Not the plain decoder: kstatus wants whole numbers as int64.
	if err := object.UnmarshalJSON(line); err != nil {
		return answer{}, err
	}
	result, err := status.Compute(&object)
	if err != nil {
		return answer{}, err
	}
	return answer{Status: result.Status.String(), Message: result.Message}, nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLineBytes)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		computed, err := compute(lines.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(computed); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
