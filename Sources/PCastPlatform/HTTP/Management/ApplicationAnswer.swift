import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// Functions that create the JSON responses of the management API.
enum ApplicationAnswer {
    private struct Done: Encodable { let status = "ok" }

    /// The response `{"status":"ok"}`.
    static var done: Response { json(Done()) }

    static func json(_ body: some Encodable, _ status: HTTPResponse.Status = .ok) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(body) else {
            return Responses.json(.internalServerError, #"{"status":"failed"}"#)
        }
        var response = Responses.json(status, String(decoding: data, as: UTF8.self))
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
