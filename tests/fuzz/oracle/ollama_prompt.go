// What Go's text/template and Ollama itself make of JSON lines: the oracle of core/text/go. By hand,
// never by make test: needs Go and the module proxy.
//
//	cp ollama_prompt.go DIR/main.go && cd DIR && go mod init oracle &&
//	go get github.com/ollama/ollama@v0.17.4 && go build -o oracle .
//
// A line is {"template", "data"}: plain text/template; {"template", "messages", "tools", "system",
// "examples", "think"}: the prompt as the server builds it; {"template", "openai": request}: the same
// from OpenAI's form; {"modelfile"}: its instructions. The answer: {"hex": text, "error"}.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"
	"github.com/ollama/ollama/parser"
	otmpl "github.com/ollama/ollama/template"
	"github.com/ollama/ollama/thinking"
)

type question struct {
	Template  string          `json:"template"`
	Data      json.RawMessage `json:"data"`
	Messages  []api.Message   `json:"messages"`
	Tools     api.Tools       `json:"tools"`
	System    string          `json:"system"`
	Examples  []api.Message   `json:"examples"`
	Think     *bool           `json:"think"`
	Modelfile *string         `json:"modelfile"`
	OpenAI    json.RawMessage `json:"openai"`
}

func modelfile(q *question) (string, error) {
	f, err := parser.ParseFile(strings.NewReader(*q.Modelfile))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range f.Commands {
		fmt.Fprintf(&b, "%s\x1f%s\x1e", c.Name, c.Args)
	}
	return b.String(), nil
}

var now = time.Now().UTC()

var funcs = template.FuncMap{
	"json":             func(v any) string { b, _ := json.Marshal(v); return string(b) },
	"currentDate":      func(args ...string) string { return now.Format("2006-01-02") },
	"yesterdayDate":    func(args ...string) string { return now.AddDate(0, 0, -1).Format("2006-01-02") },
	"toTypeScriptType": func(v any) string { return "any" },
}

func plain(q *question) (out string, err error) {
	var data any
	if err := json.Unmarshal(q.Data, &data); err != nil {
		return "", fmt.Errorf("data: %w", err)
	}
	t, err := template.New("").Option("missingkey=zero").Funcs(funcs).Parse(q.Template)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.String(), err
}

func prompt(q *question) (out string, err error) {
	t, err := otmpl.Parse(q.Template)
	if err != nil {
		return "", err
	}
	if q.OpenAI != nil {
		var r openai.ChatCompletionRequest
		if err := json.Unmarshal(q.OpenAI, &r); err != nil {
			return "", err
		}
		c, err := openai.FromChatRequest(r)
		if err != nil {
			return "", err
		}
		q.Messages, q.Tools = c.Messages, c.Tools
	}
	msgs := append(q.Examples, q.Messages...)
	if len(q.Messages) > 0 && q.Messages[0].Role != "system" && q.System != "" {
		msgs = append([]api.Message{{Role: "system", Content: q.System}}, msgs...)
	}
	n := 0
	for i := range msgs {
		prefix := ""
		for range msgs[i].Images {
			tag := fmt.Sprintf("[img-%d]", n)
			n++
			if !strings.Contains(msgs[i].Content, "[img]") {
				prefix += tag
			} else {
				msgs[i].Content = strings.Replace(msgs[i].Content, "[img]", tag, 1)
			}
		}
		msgs[i].Content = prefix + msgs[i].Content
	}
	think := q.Think
	if think == nil {
		if o, c := thinking.InferTags(t.Template); o != "" && c != "" {
			yes := true
			think = &yes
		}
	}
	v := otmpl.Values{Messages: msgs, Tools: q.Tools, IsThinkSet: think != nil}
	if think != nil && *think {
		v.Think = true
		v.ThinkLevel = "medium"
	}
	var b bytes.Buffer
	err = t.Execute(&b, v)
	return b.String(), err
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<28)
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for in.Scan() {
		var q question
		var out string
		err := json.Unmarshal(in.Bytes(), &q)
		if err == nil {
			func() {
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("panic: %v", r)
					}
				}()
				if q.Modelfile != nil {
					out, err = modelfile(&q)
				} else if q.Data != nil {
					out, err = plain(&q)
				} else {
					out, err = prompt(&q)
				}
			}()
		} else {
			err = fmt.Errorf("request: %w", err)
		}
		a := map[string]any{"hex": hex.EncodeToString([]byte(out))}
		if err != nil {
			a["error"] = strings.ToValidUTF8(err.Error(), "?")
		}
		b, _ := json.Marshal(a)
		w.Write(b)
		w.WriteByte('\n')
	}
}
