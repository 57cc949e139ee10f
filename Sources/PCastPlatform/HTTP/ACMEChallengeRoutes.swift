import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PCastIO
import PCastWeb

/// The files by which a client of ACME such as certbot proves the control of a domain name (RFC 8555, section 8.3).
///
/// The client writes them into `.well-known/acme-challenge` of a folder, and the certificate authority requests them
/// over HTTP. Only GET and HEAD are served. Symbolic links out of the folder, folders, devices and large files are not.
struct ACMEChallengeRoutes: Sendable {
    private static let place = ".well-known/acme-challenge"
    /// A key authorization has about 90 bytes.
    private static let maximumSize = 4 * 1_024
    private static let maximumTokenLength = 128

    private let folder: String

    /// - Parameter webroot: The folder that the client of ACME is given as its webroot.
    init(webroot: String) {
        folder = URL(fileURLWithPath: webroot).appendingPathComponent(Self.place).path
    }

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/\(Self.place)/:token") { _, context in
            guard let token = context.parameters.get("token"), let content = content(of: token) else {
                return Responses.text(.notFound, "There is no challenge with this name.")
            }
            return Response(
                status: .ok,
                headers: [
                    .contentType: "application/octet-stream", .cacheControl: "no-store",
                    .contentTypeOptions: "nosniff",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: content)))
        }
    }

    /// Returns the content of a challenge's file; nil if it does not exist or is not one.
    func content(of token: String) -> Data? {
        guard Self.isToken(token), let file = FolderFile("\(folder)/\(token)", in: folder, isWritten: false),
            let handle = FileHandle(forReadingAtPath: file.path)
        else { return nil }
        defer { try? handle.close() }
        guard let content = try? handle.read(upToCount: Self.maximumSize + 1), content.count <= Self.maximumSize
        else { return nil }
        return content
    }

    /// Returns whether a name has only the characters of Base64URL, as tokens have (RFC 8555, section 8.3). Thus it
    /// contains no separator of paths.
    private static func isToken(_ name: String) -> Bool {
        (1...maximumTokenLength).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
