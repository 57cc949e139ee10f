import Foundation

/// Values as lines of JSON, which two processes of the same program exchange.
enum JSONLine {
    static func text(_ value: some Encodable) -> String {
        guard let data = try? JSONEncoder().encode(value) else {
            preconditionFailure("the value must be encodable as JSON")
        }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    static func value<Value: Decodable>(_ type: Value.Type, _ line: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(line.utf8))
    }
}
