import Foundation
import PCastJSON
import PCastTestSupport
import Testing

@Suite struct JSONTextTests {
    @Test(
        "compact text is read and written unchanged",
        arguments: [
            #"{}"#, #"{"b":1,"a":[true,false,null,"x",{"y":[]}],"c":-5}"#, #"{"n":1.5}"#, #"{"é":"/"}"#,
            #"{"big":9007199254740991}"#,
        ])
    func compactRoundTrip(text: String) {
        #expect(JSONObject(text: text)?.text == text)
    }

    @Test(
        "equivalent forms have the same value",
        arguments: [
            (" { \"a\" : [ 1 , 2 ] \n} ", #"{"a":[1,2]}"#), (#"{"a":"\u00e9\/\ud83d\ude00"}"#, #"{"a":"é/😀"}"#),
            (#"{"a":"\ud83d","b":"\ude00x"}"#, #"{"a":"\#u{FFFD}","b":"\#u{FFFD}x"}"#),
            (#"{"a":"\ud83d\u0041"}"#, #"{"a":"\#u{FFFD}A"}"#), (#"{"a":1,"b":2,"a":3}"#, #"{"a":3,"b":2}"#),
            (#"{ "a":1e3 , "b":-0.5E+1}"#, #"{"a":1e3,"b":-0.5E+1}"#),
        ])
    func equivalentForms(text: String, compact: String) {
        #expect(JSONObject(text: text)?.text == compact)
    }

    @Test(
        "text that is not a valid object is rejected",
        arguments: [
            "", "{", "}", "[]", "1", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":01}", "{\"a\":1.}",
            "{\"a\":-}",
            "{\"a\":1e}", "{\"a\":1e999}", "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}",
            "{\"a\":\"\\u+123\"}",
            "{\"a\":tru}", "{} {}", "{\"a\":1]", "{\"a\":[1}", "{\"a\":nan}", "{\"a\":+1}", "{\"a\":\"", "{\"a\":\"\\",
        ])
    func invalidText(text: String) {
        #expect(JSONObject(text: text) == nil)
    }

    @Test("depth and size are bounded")
    func depthAndSizeLimits() {
        let nested = { (depth: Int) in
            String(repeating: "{\"a\":", count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
        }
        #expect(JSONObject(text: nested(16)) != nil)
        #expect(JSONObject(text: nested(17)) == nil)
        #expect(JSONObject(text: nested(3000)) == nil)
        let sized = { (size: Int) in "{\"a\":\"" + String(repeating: "x", count: size - 8) + "\"}" }
        #expect(JSONObject(text: sized(16 * 1024)) != nil)
        #expect(JSONObject(text: sized(16 * 1024 + 1)) == nil)
    }

    @Test("mutated text never traps")
    func mutatedText() {
        let text = Array(#"{"b":1.5e3,"a":[true,false,null,"\u00e9\ud83d\ude00\n",{"y":[]}],"c":-5}"#.utf8)
        var state: UInt64 = 1
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var changed = text
            changed[Int(state >> 33) % text.count] = UInt8(truncatingIfNeeded: state >> 40)
            for text in [changed[...], changed[..<(Int(state >> 20) % text.count)]] {
                guard let read = JSONObject(text: String(decoding: text, as: UTF8.self)) else { continue }
                #expect(JSONObject(text: read.text) == read)
            }
        }
    }

    @Test("untrusted JSON is the same in any order and form")
    func sameness() throws {
        func value(_ text: String) throws -> JSONValue { try JSONValue(Array(text.utf8)) }
        #expect(try value(#"{"a":1,"b":[2.0]}"#) == value(#"{"b":[2],"a":10e-1}"#))
        #expect(try Set([value(#"{"a":1,"b":2}"#), value(#"{"b":2,"a":1.0}"#)]).count == 1)
        #expect(try value(#"{"a":1}"#) != value(#"{"a":1,"b":null}"#) && value("[1,2]") != value("[2,1]"))
        #expect(try value("9007199254740993") != value("9007199254740992"))
        #expect(try value("1e2").integer == 100 && value("1.5").integer == nil)
        #expect(JSONValue.number(2).text == "2" && JSONValue.number(-0.25).text == "-0.25")
    }

    @Test("ambiguous JSON is rejected in strict mode")
    func ambiguity() throws {
        let strict = JSONLimits(refusesAmbiguity: true)
        for (text, place) in [
            (#"{"a":1,"a":2}"#, 7), (#"["\ud800"]"#, 8), (#"["\ud800\u0041"]"#, 8), (#"["\udc00"]"#, 8),
        ] {
            #expect(throws: JSONError.malformed(at: place)) { try JSONValue(Array(text.utf8), within: strict) }
            #expect(throws: Never.self) { try JSONValue(Array(text.utf8)) }
        }
        #expect(try JSONValue(Array(#""\ud83d\ude00""#.utf8), within: strict) == "😀")
    }

    @Test("each limit is reported, and nothing is read beyond it")
    func limits() {
        let limits = JSONLimits(bytes: 64, depth: 3, values: 8, members: 2)
        func failure(_ text: String) -> JSONError? {
            do throws(JSONError) {
                _ = try JSONValue(Array(text.utf8), within: limits)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure("[[[]]]") == nil && failure("[[[[]]]]") == .tooDeep(limit: 3))
        #expect(failure("[1,2,3,4,5,6,7]") == nil && failure("[1,2,3,4,5,6,7,8]") == .tooManyValues(limit: 8))
        #expect(failure(#"{"a":1,"b":2,"c":3}"#) == .tooManyMembers(limit: 2))
        #expect(failure(String(repeating: " ", count: 65)) == .tooLarge(limit: 64))
        let long = String(repeating: "1", count: 65)
        #expect((try? JSONValue(Array(long.utf8))) == nil && (try? JSONValue(Array("1e999".utf8))) == nil)
    }
}

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
