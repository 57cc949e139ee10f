import Foundation
import PCastJSON
import PCastNetworkEmulation
import Testing

@Suite("The values of JSON")
struct JSONValueTests {
    private func random(_ depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0: return .null
        case 1: return .boolean(Bool.random(using: &generator))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &generator))
        case 3: return .number(Double.random(in: -1...1, using: &generator))
        case 4: return .string(["", "ü\u{1F642}", "\"\\\n/", "plain"].randomElement(using: &generator) ?? "")
        case 5: return .array((0..<3).map { _ in random(depth - 1, &generator) })
        default:
            return .object(JSONObject((0..<3).map { ("\($0)", random(depth - 1, &generator)) }))
        }
    }

    @Test("values are parsed as they were written", arguments: UInt64(1)...20)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let value = random(3, &generator)
            #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
            #expect(try JSONValue(value.bytes) == value)
            #expect(try JSONDecoder().decode(JSONValue.self, from: Data(value.bytes)) == value)
        }
    }

    @Test("integers stay integers, and other types are nil")
    func access() throws {
        let text = #"{"id": 9007199254740993, "at": 1.5, "big": 2.0, "tags": ["a", null], "live": true}"#
        let value = try JSONValue(Array(text.utf8))
        #expect(value["id"]?.integer == 9_007_199_254_740_993 && value["at"]?.number == 1.5)
        #expect(value["at"]?.integer == nil && value["big"]?.integer == 2 && value["id"]?.string == nil)
        #expect(value["tags"]?.array == ["a", nil] && value["live"]?.boolean == true && value["none"] == nil)
        #expect(value["tags"]?["a"] == nil && value.object?.count == 5)
        let built: JSONValue = ["id": 9_007_199_254_740_993, "at": 1.5, "big": 2, "tags": ["a", nil], "live": true]
        #expect(built == value)
        #expect(JSONValue.number(.nan) == .null && JSONValue.number(.infinity) == nil)
    }
}
