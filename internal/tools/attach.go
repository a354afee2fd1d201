package tools

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// transferBinary says of a block that its bytes are those of a stream beside the
// result (Binary Transfer RFC).
const transferBinary = "binary"

// attachedMedia is an image or a sound whose bytes follow the result.
type attachedMedia struct {
	mcp.ImageContent `json:"-"` // what makes it content

	Meta         *mcp.Meta  `json:"_meta,omitempty"`
	Type         string     `json:"type"`
	TransferMode string     `json:"transferMode"`
	MIMEType     string     `json:"mimeType"`
	BinaryRef    binary.Ref `json:"binaryRef"`
}

// attachedFile is an embedded resource whose bytes follow the result.
type attachedFile struct {
	mcp.EmbeddedResource `json:"-"` // what makes it content

	Meta         *mcp.Meta        `json:"_meta,omitempty"`
	Type         string           `json:"type"`
	TransferMode string           `json:"transferMode"`
	Resource     attachedResource `json:"resource"`
}

type attachedResource struct {
	URI       string     `json:"uri"`
	MIMEType  string     `json:"mimeType"`
	BinaryRef binary.Ref `json:"binaryRef"`
}

// attachFile has the bytes of a file that is no text follow the result.
func (f file) attachFile(ctx context.Context, attachments *resources.Attachments, uri string) error {
	content, err := f.resources.Open(ctx, uri)
	if err != nil {
		return err
	}
	attached, err := attachments.Add(ctx, content)
	if err != nil {
		return err
	}
	f.note("They follow this result as the stream %s.", attached.Stream)
	f.attached = append(f.attached, attachedContent(uri, attached))
	return nil
}

// attachedContent is a block of the kind that the type is of.
func attachedContent(uri string, attached *resources.Attachment) mcp.Content {
	kind, _, _ := strings.Cut(attached.MIMEType, "/")
	if kind == "image" || kind == "audio" {
		return attachedMedia{
			Meta: ofRepository(), Type: kind, TransferMode: transferBinary, MIMEType: attached.MIMEType,
			BinaryRef: attached.Ref,
		}
	}
	return attachedFile{
		Meta: ofRepository(), Type: "resource", TransferMode: transferBinary,
		Resource: attachedResource{URI: uri, MIMEType: attached.MIMEType, BinaryRef: attached.Ref},
	}
}
