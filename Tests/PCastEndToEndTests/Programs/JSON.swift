import Foundation

/// A value in a program's output.
enum JSON: Decodable, Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// Creates the object of a line; nil if there is none.
    init?(line: String) {
        guard line.hasPrefix("{"), let value = try? JSONDecoder().decode(JSON.self, from: Data(line.utf8)) else {
            return nil
        }
        self = value
    }

    /// The value of a field; null if there is no such field.
    subscript(field: String) -> JSON {
        if case .object(let fields) = self { fields[field] ?? .null } else { .null }
    }

    subscript(index: Int) -> JSON {
        if case .list(let values) = self, values.indices.contains(index) { values[index] } else { .null }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    var number: Double? { if case .number(let number) = self { number } else { nil } }

    /// The time of an event in a program's output.
    var time: Date {
        get throws {
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            guard let text = self["time"].text, let time = try? format.parse(text) else {
                throw EndToEndFailure("an event without a time: \(self)")
            }
            return time
        }
    }

    var list: [JSON] { if case .list(let values) = self { values } else { [] } }
}
