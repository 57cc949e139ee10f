public import Hummingbird
public import NIOCore
public import PCastCore

/// The context of a request: the client and the connection.
public struct WebRequestContext: RequestContext, RemoteAddressRequestContext {
    /// The context of Hummingbird.
    public var coreContext: CoreRequestContextStorage
    /// The remote address of the connection; nil if it is closed.
    public let remoteAddress: SocketAddress?
    /// The address of the client. It is the address that a trusted proxy reports, otherwise that of the connection. Nil
    /// if the connection is closed.
    public var clientAddress: IPAddress?
    /// Whether an untrusted proxy forwarded the request, so that the client is unknown.
    public var isHiddenByProxy = false
    /// Whether the client uses TLS according to a trusted proxy.
    public var isSecureByProxy = false
    /// The port of this server that received the connection.
    public let localPort: Int?
    /// The connection of the client.
    let channel: any Channel

    /// Creates the context of a connection.
    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
        clientAddress = TransportAddress(source.channel.remoteAddress)?.ip
        channel = source.channel
        localPort = source.channel.localAddress?.port
    }

    /// The maximum size of a request's content in bytes. Offers, trickle ICE fragments and JSON requests are small.
    public var maxUploadSize: Int { 256 * 1024 }
}
