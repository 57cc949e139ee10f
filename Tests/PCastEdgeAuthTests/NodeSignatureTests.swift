import PCastEdgeAuth
import Testing

struct NodeSignatureTests {
    private static func signer(_ secret: String = "sixteen bytes or more") throws -> NodeSignature {
        try #require(NodeSignature(secret: secret))
    }

    @Test("a signature is valid for the same message, purpose, nonce and secret only")
    func restrictions() throws {
        let signer = try Self.signer()
        let signature = signer.sign("payload", purpose: "request", nonce: "n1")
        #expect(signer.isValid(signature, of: "payload", purpose: "request", nonce: "n1"))
        #expect(!signer.isValid(signature, of: "payload2", purpose: "request", nonce: "n1"))
        #expect(!signer.isValid(signature, of: "payload", purpose: "answer", nonce: "n1"))
        #expect(!signer.isValid(signature, of: "payload", purpose: "request", nonce: "n2"))
        let other = try Self.signer("another secret of nodes")
        #expect(!other.isValid(signature, of: "payload", purpose: "request", nonce: "n1"))
        for malformed in ["", "!", "AAAA", signature + "A"] {
            #expect(!signer.isValid(malformed, of: "payload", purpose: "request", nonce: "n1"))
        }
    }

    @Test("no two messages have the same signed bytes")
    func boundaries() throws {
        let signer = try Self.signer()
        #expect(
            signer.sign("c", purpose: "a b", nonce: "x") != signer.sign("c", purpose: "a", nonce: "b x"))
        #expect(signer.sign("x c", purpose: "a", nonce: "b") != signer.sign("c", purpose: "a", nonce: "b x"))
    }

    @Test("a secret of less than 16 bytes is refused")
    func size() {
        #expect(NodeSignature(secret: "fifteen letters") == nil)
        #expect(NodeSignature(secret: "sixteen letters.") != nil)
    }
}
