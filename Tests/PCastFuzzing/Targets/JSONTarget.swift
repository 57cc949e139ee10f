import PCastEdgeAuth
import PCastJSON

/// JSON as in tokens.
enum JSONTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let object = JSONObject(text: String(decoding: bytes, as: UTF8.self)) else { return false }
        let text = object.text
        try check(text.utf8.count <= 6 * bytes.count + 64, "\(text.utf8.count) bytes of text from \(bytes.count)")
        if text.utf8.count <= 16 * 1024 {
            try check(JSONObject(text: text)?.text == text, "an object that changed: \(text)")
        }
        _ = EdgeToken(object)
        return true
    }

    static let corpus: [[UInt8]] = [
        #"{"expires":1000,"requiredTag":"channelAlias:my-channel","type":"stream","capabilities":["a","b"]}"#,
        #"{"a":[1,-2.5e3,0.1,true,false,null,{"b":{}}],"\u00e9\n":"\ud83d\ude00\\\"\/","c":9007199254740993}"#,
        #" { "applicationId" : "x" , "applyTags" : [ ] } "#,
    ].map { Array($0.utf8) }
}
