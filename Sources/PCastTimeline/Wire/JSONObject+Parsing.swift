import PCastJSON

extension JSONObject {
    /// Parses a JSON object. Throws `TimelineError` if the bytes are not a JSON object, or exceed the limits.
    init(parsing bytes: [UInt8], within limits: TimelineLimits) throws(TimelineError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(bytes, within: limits.json)
        } catch {
            throw TimelineError(error)
        }
        guard case .object(let object) = value else { throw .wrongType("the message", expected: "an object") }
        self = object
    }
}
