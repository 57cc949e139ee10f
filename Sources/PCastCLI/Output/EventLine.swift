import PCastCore
import PCastJSON

/// An event as a line of JSON. Its object begins with `event` and `time`, followed by the other fields in order.
struct EventLine {
    let name: String
    let time: WallTime
    let fields: [(key: String, value: JSONValue)]

    init(name: String, time: WallTime, fields: [(key: String, value: JSONValue)]) {
        (self.name, self.time, self.fields) = (name, time, fields)
    }

    init(name: String, time: WallTime, fields: KeyValuePairs<String, JSONValue>) {
        self.init(name: name, time: time, fields: Array(fields))
    }

    /// The JSON text without a line feed.
    var text: String {
        var object = JSONObject()
        object["event"] = .string(name)
        object["time"] = .string(time.timestampText)
        for (name, value) in fields { object[name] = value }
        return object.text
    }
}

extension JSONValue {
    /// Returns a number; null if it is unknown or not finite.
    static func figure(_ value: Double?) -> JSONValue {
        guard let value, value.isFinite else { return .null }
        return .number(value)
    }

    /// Returns a measured number, rounded to a thousandth.
    static func measured(_ value: Double?) -> JSONValue {
        figure(value.map { ($0 * 1_000).rounded() / 1_000 })
    }

    static func count(_ value: some BinaryInteger) -> JSONValue { .number(Double(value)) }

    static func text(_ value: String?) -> JSONValue { value.map(JSONValue.string) ?? .null }
}
