import HTTPTypes
import NIOCore
import PCastHLS
import PCastWeb
import Testing

@testable import PCastPlatform

@Suite("Responses to requests that are resumed together")
struct SharedResponsesTests {
    @Test("requests that an event loop resumes together share the response with the same playlist and coding only")
    func sharedResponses() {
        let responses = SharedResponses()
        let directives = DeliveryDirectives(segment: 3, part: 1)
        let key = SharedResponses.Key(rendition: "video0", directives: directives, acceptsGzip: false)
        #expect(responses[key] == nil)
        let head = DirectResponseHead(.ok, [.contentType: "text/plain"])
        let added = responses.add(DirectResponse(head, ByteBuffer(string: "list")), for: key)
        #expect(added.body == ByteBuffer(string: "list"))
        #expect(responses[key]?.body == added.body)
        let others = [
            SharedResponses.Key(rendition: "video1", directives: directives, acceptsGzip: false),
            SharedResponses.Key(rendition: "video0", directives: directives, acceptsGzip: true),
            SharedResponses.Key(
                rendition: "video0", directives: DeliveryDirectives(segment: 3, part: 2), acceptsGzip: false),
        ]
        for other in others { #expect(responses[other] == nil) }
    }
}
