public import Hummingbird
public import NIOCore
public import PCastMedia

/// What a request handler knows beside the request: who asks.
public struct WebRequestContext: RequestContext, RemoteAddressRequestContext {
    public var coreContext: CoreRequestContextStorage
    public let remoteAddress: SocketAddress?
    /// Who asks: whom the connection comes from, or on whose behalf, where a proxy is believed; nil when it is gone.
    public var clientAddress: IPAddress?
    /// Somebody forwards the request who is not believed: it may be anybody's, whatever the address is.
    public var isHiddenByProxy = false
    /// The client's own connection is by TLS, as a proxy says that is believed.
    public var isSecureByProxy = false
    /// The port of this server that the connection came to.
    public let localPort: Int?
    /// The client's connection.
    let channel: any Channel

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
        clientAddress = TransportAddress(source.channel.remoteAddress)?.ip
        channel = source.channel
        localPort = source.channel.localAddress?.port
    }

    /// Bodies are small here: an offer, a trickle fragment, a JSON request.
    public var maxUploadSize: Int { 256 * 1024 }
}
