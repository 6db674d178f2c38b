// Command health answers for each JSON line of its input, a health script and an object, with a line that holds the health
// which Argo CD computes for it: the same interpreter, with the libraries that Argo CD opens (util/lua of argo-cd).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	lua "github.com/yuin/gopher-lua"
)

// Larger than what etcd stores of one object.
const maxLineBytes = 4 << 20

type question struct {
	Script string         `json:"script"`
	Object map[string]any `json:"object"`
}

type answer struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case bool:
		return lua.LBool(typed)
	case float64:
		return lua.LNumber(typed)
	case string:
		return lua.LString(typed)
	case []any:
		table := state.CreateTable(len(typed), 0)
		for _, entry := range typed {
			table.Append(toLua(state, entry))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(typed))
		for key, entry := range typed {
			table.RawSetString(key, toLua(state, entry))
		}
		return table
	}
	return lua.LNil
}

func compute(line []byte) (answer, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return answer{}, err
		}
	}
	state.SetGlobal("obj", toLua(state, asked.Object))
	if err := state.DoString(asked.Script); err != nil {
		return answer{}, err
	}
	result, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return answer{}, fmt.Errorf("the script returned no table")
	}
	return answer{
		Status:  lua.LVAsString(result.RawGetString("status")),
		Message: lua.LVAsString(result.RawGetString("message")),
	}, nil
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
