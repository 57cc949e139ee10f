/// Text in arrays of fixed size, with or without a terminating zero.
enum FixedText {
    static func string<Bytes>(_ bytes: Bytes) -> String {
        withUnsafeBytes(of: bytes) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
