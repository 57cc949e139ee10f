/// A value of JSON (RFC 8259) whose text is the one that `JSON.stringify` of ECMAScript writes.
public enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    /// Finite.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Compact JSON: no white space, `/` and everything beyond ASCII as it is.
    public var text: String {
        var writer = JSONWriter()
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
