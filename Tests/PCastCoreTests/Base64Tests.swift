import PCastCore
import Testing

@Suite struct Base64Tests {
    /// RFC 4648, section 10, and both characters beyond letters and digits.
    @Test(
        "the test vectors of RFC 4648 are encoded and decoded",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"), ("~~\u{7F}>?>", "fn5/Pj8+"),
        ])
    func testVectors(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        let unpadded = encoded.filter { $0 != "=" }
        #expect(Base64.decode(unpadded) == Array(plain.utf8))
    }

    @Test(
        "malformed text is rejected",
        arguments: ["A", "A===", "====", "Zg=", "Zm8==", "Zh==", "Zm9=", "Zm9v\n", "Zm9v Yg", "Zm-v", "Z=8=", "é8=="])
    func malformedText(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
