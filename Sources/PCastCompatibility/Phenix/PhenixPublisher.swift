public import PCast

extension Publisher {
    public var streamId: String! { streamID.description }

    /// Stops publishing; the platform and the viewers are told the reason.
    public func stop(_ reason: String!) { stop(reason: reason ?? "") }
}
