import PCastCore
import Testing

@testable import PCastWeb

/// The client of object stores without a server.
struct S3Tests {
    /// The requests and signatures of the documentation of S3, “Signature Calculations for the Authorization Header”.
    @Test(
        "a request has the signature of the documentation of S3",
        arguments: [
            (
                "GET", "/test.txt", [], [("Range", "bytes=0-9")], "",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "PUT", "/test%24file.text", [],
                [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "Welcome to Amazon S3.", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                "GET", "/", [("lifecycle", "")], [], "",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "GET", "/", [("prefix", "J"), ("max-keys", "2")], [], "",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, String, [(String, String)], [(String, String)], String, String)])
    func signatures(
        method: String, path: String, query: [(String, String)], fields: [(String, String)], content: String,
        expected: String
    ) throws {
        let credentials = try #require(
            S3Credentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
        let time = try #require(Timestamp.parse("2013-05-24T00:00:00Z"))
        let signed = S3Signature(credentials: credentials, region: "us-east-1").fields(
            of: S3Signature.Request(
                method: method, path: path, query: query.map { (name: $0.0, value: $0.1) },
                host: "examplebucket.s3.amazonaws.com", fields: fields.map { (name: $0.0, value: $0.1) },
                contentHash: S3Signature.hash(Array(content.utf8))),
            at: time)
        let authorization = try #require(signed.first { $0.name == "Authorization" }).value
        #expect(authorization.hasSuffix("Signature=\(expected)"))
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
    }

    @Test("paths and queries are encoded as S3 requires")
    func encoding() {
        #expect(S3Signature.encoded("a/b c%2e~é", isPath: true) == "a/b%20c%252e~%C3%A9")
        #expect(S3Signature.encoded("a/b") == "a%2Fb")
        #expect(S3Signature.queryText([("uploadId", "x=1"), ("partNumber", "2")]) == "partNumber=2&uploadId=x%3D1")
    }

    @Test("a token of temporary credentials is sent and signed")
    func sessionToken() throws {
        let credentials = try #require(
            S3Credentials(environment: [
                "AWS_ACCESS_KEY_ID": "ID", "AWS_SECRET_ACCESS_KEY": "SECRET", "AWS_SESSION_TOKEN": "TOKEN",
            ]))
        let fields = S3Signature(credentials: credentials, region: "r").fields(
            of: S3Signature.Request(method: "GET", path: "/", host: "h", contentHash: "c"),
            at: WallTime(millisecondsSinceEpoch: 0))
        #expect(fields.contains { $0.name == "x-amz-security-token" && $0.value == "TOKEN" })
        let authorization = try #require(fields.last).value
        #expect(authorization.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
        #expect(!authorization.contains("SECRET"))
    }

    @Test(
        "credentials are read from the default profile of a file",
        arguments: [
            ("[default]\naws_access_key_id = A\naws_secret_access_key = b/+=\n", "A", "b/+="),
            ("aws_access_key_id=A\r\naws_secret_access_key=b\r\n", "A", "b"),
            (
                "# keys\n[other]\naws_access_key_id = X\naws_secret_access_key = y\n[ default ]\n"
                    + "aws_secret_access_key =  b \n AWS_ACCESS_KEY_ID = A\n[third]\naws_access_key_id = Z", "A", "b"
            ),
            ("", nil, nil), ("[default]\naws_access_key_id = A\n", nil, nil),
            ("[other]\naws_access_key_id = A\naws_secret_access_key = b", nil, nil),
            ("aws_access_key_id = A\naws_secret_access_key = b\u{7}c", nil, nil), ("=\n=a\n[", nil, nil),
        ] as [(String, String?, String?)])
    func files(text: String, id: String?, secret: String?) {
        let credentials = S3Credentials(file: text)
        #expect(credentials?.accessKeyID == id)
        #expect(credentials?.secretAccessKey == secret)
    }

    @Test("the text of credentials does not contain the secret")
    func secrecy() throws {
        let credentials = try #require(
            S3Credentials(accessKeyID: "ID", secretAccessKey: "hidden-secret", sessionToken: "hidden-token"))
        for text in ["\(credentials)", String(reflecting: credentials), "\([credentials])"] {
            #expect(text.contains("ID") && !text.contains("hidden"), "\(text)")
        }
    }

    @Test(
        "elements of a response are read without their entities",
        arguments: [
            ("<a><UploadId>x&amp;lt;y</UploadId></a>", "UploadId", "x&lt;y"),
            ("<ETag>&quot;d41d&quot;</ETag>", "ETag", "\"d41d\""), ("<ETag>a\nb</ETag>", "ETag", "ab"),
            ("<Code></Code>", "Code", ""), ("<Code>NoSuchKey", "Code", nil), ("</Code><Code>", "Code", nil),
            ("<Code><b>x</b></Code>", "Code", nil), ("", "Code", nil),
            ("<Code>\u{301}a<\u{301}</Code>", "Code", nil),
            ("<Code>\u{301}&lt;\u{301}</Code>", "Code", "\u{301}<\u{301}"),
        ] as [(String, String, String?)])
    func responses(text: String, element: String, content: String?) {
        #expect(S3Text.content(of: element, in: Array(text.utf8)) == content)
    }

    @Test("a text that is sent has no elements, and is read back")
    func escaping() {
        let text = "a<\u{301}b>&amp;&\u{301}\""
        let escaped = S3Text.escaped(text)
        #expect(!escaped.utf8.contains(UInt8(ascii: "<")) && !escaped.utf8.contains(UInt8(ascii: ">")))
        #expect(S3Text.content(of: "ETag", in: Array("<ETag>\(escaped)</ETag>".utf8)) == text)
    }

    @Test("damaged responses are read without a failure")
    func damage() {
        var random = SystemRandomNumberGenerator()
        let response = Array("<?xml version=\"1.0\"?><E><Code>NoSuchUpload</Code><Message>a &lt; b</Message></E>".utf8)
        for _ in 0..<2_000 {
            var damaged = response
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: damaged.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: damaged[index] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.remove(at: index)
                default: damaged.insert(contentsOf: response.prefix(index), at: index)
                }
            }
            let code = S3Text.content(of: "Code", in: damaged)
            // Neither elements nor lines of a log begin in it.
            #expect(code?.unicodeScalars.contains { $0.value < 0x20 } != true)
        }
    }
}
