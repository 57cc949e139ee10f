import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastCore
import PCastWeb

/// The server-sent events of sessions; see ``StreamEvents``.
///
/// A GET request at `/events` below a resource returns the default events. A viewer can create event streams of other
/// types (`urn:ietf:params:whep:ext:core:server-sent-events`): a POST with a JSON array of types returns the URI of an
/// event stream, which supports GET and DELETE. An event stream ends with its session.
extension WebRTCHTTPController {
    private static let eventsMethods = "GET, HEAD, POST, OPTIONS"
    private static let eventStreamMethods = "GET, HEAD, DELETE, OPTIONS"
    private static let jsonType = "application/json"
    /// The maximum size of a list of event types in bytes.
    private static let eventListLimit = 4 * 1024

    func addEventRoutes(to group: RouterGroup<WebRequestContext>) {
        let events: RouterPath = "resource/:name/events"
        group.on(events, method: .get) { _, context in
            await respond { () throws(APIError) in
                let resource = try await find(context).resource
                return StreamEvents.response(await directory.updates(of: resource.peerSession.peer))
            }
        }
        guard kind == .whep else {
            for method: HTTPRequest.Method in [.put, .post, .patch, .delete, .trace] {
                group.on(events, method: method) { _, _ in Responses.methodNotAllowed("GET, HEAD") }
            }
            return
        }
        group.on(events, method: .post) { request, context in
            await respond { () throws(APIError) in try await createEventStream(request, context) }
        }
        group.on(events, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.eventsMethods, accept: Self.jsonType)
        }
        for method: HTTPRequest.Method in [.put, .patch, .delete, .trace] {
            group.on(events, method: method) { _, _ in Responses.methodNotAllowed(Self.eventsMethods) }
        }
        addEventStreamRoutes(to: group)
    }

    private func addEventStreamRoutes(to group: RouterGroup<WebRequestContext>) {
        let path: RouterPath = "resource/:name/events/:events"
        group.on(path, method: .get) { _, context in
            await respond { () throws(APIError) in
                let resource = try await find(context).resource
                guard let stream = context.parameters.get("events").flatMap({ resource.eventStreams[$0] }) else {
                    throw Self.noEventStream
                }
                return StreamEvents.response(delivering: await stream.read())
            }
        }
        // A response without content must not take over the events from the reader.
        group.on(path, method: .head) { _, context in
            await respond { () throws(APIError) in
                let resource = try await find(context).resource
                guard context.parameters.get("events").map({ resource.eventStreams[$0] != nil }) == true else {
                    throw Self.noEventStream
                }
                return Response(status: .ok, headers: StreamEvents.headers)
            }
        }
        group.on(path, method: .delete) { _, context in
            await respond { () throws(APIError) in
                let name = try await find(context).name
                guard let id = context.parameters.get("events"),
                    let stream = await resources.removeEventStream(id, of: name)
                else { throw Self.noEventStream }
                await stream.end()
                return Response(status: .ok)
            }
        }
        group.on(path, method: .options) { _, _ in
            CrossOriginMiddleware.preflight(allow: Self.eventStreamMethods, accept: nil)
        }
        for method: HTTPRequest.Method in [.put, .post, .patch, .trace] {
            group.on(path, method: method) { _, _ in Responses.methodNotAllowed(Self.eventStreamMethods) }
        }
    }

    private static let noEventStream = APIError(.gone, "The event stream does not exist or has ended.")

    /// Creates an event stream of the types in the body, or of all types if there is no body.
    ///
    /// - Throws: ``APIError``, with the kind `badRequest` if a type is unknown. No event stream is created then.
    private func createEventStream(_ request: Request, _ context: WebRequestContext) async throws(APIError) -> Response
    {
        let (name, resource) = try await find(context)
        let types = try await eventTypes(request)
        let stream = SessionEventStream(types, of: resource, directory)
        guard let id = try await resources.add(stream, to: name) else { throw .ended }
        await stream.start(
            await directory.updates(
                of: resource.peerSession.peer, receivesReconnect: types.contains(.reconnect)))
        return Response(status: .created, headers: [.location: "/whep/resource/\(name)/events/\(id)"])
    }

    private func eventTypes(_ request: Request) async throws(APIError) -> Set<SessionEventType> {
        let known = SessionEventType.viewerTypes.map(\.rawValue).joined(separator: ", ")
        let invalid = APIError(
            .badRequest, "The list of events is invalid: send a JSON array of names as \(Self.jsonType): \(known).")
        var request = request
        let names: [String]
        do {
            let body = try await request.collectBody(upTo: Self.eventListLimit)
            if body.readableBytes == 0 { return Set(SessionEventType.viewerTypes) }
            guard request.hasBody(ofType: Self.jsonType) else { throw invalid }
            names = try JSONDecoder().decode([String].self, from: Data(body.readableBytesView))
        } catch {
            throw invalid
        }
        let unknown = names.filter { name in !SessionEventType.viewerTypes.contains { $0.rawValue == name } }
        guard unknown.isEmpty else {
            let quoted = unknown.prefix(8).map { "“\($0.prefix(64))”" }.joined(separator: ", ")
            throw APIError(.badRequest, "Unknown types of events: \(quoted). Send only \(known).")
        }
        return Set(names.compactMap { SessionEventType(rawValue: $0) })
    }
}
