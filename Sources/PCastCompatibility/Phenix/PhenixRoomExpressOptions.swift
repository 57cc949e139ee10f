public import PCast

/// Creates clients of rooms, and builders of their options (Phenix: `PhenixRoomExpressFactory`).
public enum PhenixRoomExpressFactory {
    /// Returns a client of rooms, whose PCast client begins to start.
    public static func createRoomExpress(_ options: PhenixPCastExpressOptions!) -> PhenixRoomExpress! {
        PhenixRoomExpress(PhenixPCastExpressFactory.createPCastExpress(options))
    }

    /// Returns a builder of the options of a new room.
    public static func createRoomOptionsBuilder() -> PhenixRoomOptionsBuilder! { PhenixRoomOptionsBuilder() }

    /// Returns a builder of the options for entering a room.
    public static func createJoinRoomOptionsBuilder() -> PhenixJoinRoomOptionsBuilder! {
        PhenixJoinRoomOptionsBuilder()
    }

    /// Returns a builder of the options for publishing in a room.
    public static func createPublishToRoomOptionsBuilder() -> PhenixPublishToRoomOptionsBuilder! {
        PhenixPublishToRoomOptionsBuilder()
    }
}

/// Creates clients of channels, and builders of their options (Phenix: `PhenixChannelExpressFactory`).
public enum PhenixChannelExpressFactory {
    /// Returns a client of channels, whose PCast client begins to start.
    public static func createChannelExpress(_ options: PhenixPCastExpressOptions!) -> PhenixChannelExpress! {
        PhenixChannelExpress(PhenixRoomExpressFactory.createRoomExpress(options))
    }

    /// Returns a builder of the options for entering a channel.
    public static func createJoinChannelOptionsBuilder() -> PhenixJoinChannelOptionsBuilder! {
        PhenixJoinChannelOptionsBuilder()
    }

    /// Returns a builder of the options for publishing in a channel.
    public static func createPublishToChannelOptionsBuilder() -> PhenixPublishToRoomOptionsBuilder! {
        PhenixPublishToRoomOptionsBuilder()
    }
}

/// The name of a room, and the description of a new one (Phenix: `PhenixRoomOptions`).
public struct PhenixRoomOptions: Hashable, Sendable {
    /// The identifier; empty for none.
    var id = ""
    /// The alias; empty for none.
    var alias = ""
    var name = ""
    var text = ""
    var type = PhenixRoomType.multiPartyChat
}

/// A builder of the options of a room (Phenix: `PhenixRoomOptionsBuilder`).
public final class PhenixRoomOptionsBuilder {
    private var options = PhenixRoomOptions()

    /// Sets the alias.
    public func withAlias(_ alias: String!) -> PhenixRoomOptionsBuilder! {
        options.alias = alias ?? ""
        return self
    }

    /// Sets the name for people.
    public func withName(_ name: String!) -> PhenixRoomOptionsBuilder! {
        options.name = name ?? ""
        return self
    }

    /// Sets the description for people.
    public func withDescription(_ description: String!) -> PhenixRoomOptionsBuilder! {
        options.text = description ?? ""
        return self
    }

    /// Sets the type.
    public func withType(_ type: PhenixRoomType) -> PhenixRoomOptionsBuilder! {
        options.type = type
        return self
    }

    /// Returns the options.
    public func buildRoomOptions() -> PhenixRoomOptions! { options }
}

/// The options for entering a room (Phenix: `PhenixJoinRoomOptions`).
public struct PhenixJoinRoomOptions: Sendable {
    var room = PhenixRoomOptions()
    var role = PhenixMemberRole.participant
    var screenName = "guest"
}

/// A builder of the options for entering a room (Phenix: `PhenixJoinRoomOptionsBuilder`).
public final class PhenixJoinRoomOptionsBuilder {
    private var options = PhenixJoinRoomOptions()

    /// Sets the identifier, which precedes an alias.
    public func withRoomId(_ id: String!) -> PhenixJoinRoomOptionsBuilder! {
        options.room.id = id ?? ""
        return self
    }

    /// Sets the alias.
    public func withRoomAlias(_ alias: String!) -> PhenixJoinRoomOptionsBuilder! {
        options.room.alias = alias ?? ""
        return self
    }

    /// Sets the role. In a channel, it is the audience in any case.
    public func withRole(_ role: PhenixMemberRole) -> PhenixJoinRoomOptionsBuilder! {
        options.role = role
        return self
    }

    /// Sets the name for people.
    public func withScreenName(_ name: String!) -> PhenixJoinRoomOptionsBuilder! {
        options.screenName = name ?? "guest"
        return self
    }

    /// Returns the options.
    public func buildJoinRoomOptions() -> PhenixJoinRoomOptions! { options }
}

/// The options for entering a channel (Phenix: `PhenixJoinChannelOptions`).
public struct PhenixJoinChannelOptions: Sendable {
    var joining = PhenixJoinRoomOptions()
    var selection = PhenixStreamSelectionStrategy.mostRecent
    var subscribing = PhenixSubscribeOptions()
}

/// A builder of the options for entering a channel (Phenix: `PhenixJoinChannelOptionsBuilder`).
public final class PhenixJoinChannelOptionsBuilder {
    private var options = PhenixJoinChannelOptions()
    private let subscribing = PhenixSubscribeOptionsBuilder()

    /// Sets the channel and the name for people.
    public func withJoinRoomOptions(_ joining: PhenixJoinRoomOptions!) -> PhenixJoinChannelOptionsBuilder! {
        options.joining = joining ?? PhenixJoinRoomOptions()
        return self
    }

    /// Sets the token that permits viewing.
    public func withStreamToken(_ token: String!) -> PhenixJoinChannelOptionsBuilder! {
        _ = subscribing.withStreamToken(token)
        return self
    }

    /// Sets the selection among several presenters.
    public func withStreamSelectionStrategy(
        _ strategy: PhenixStreamSelectionStrategy
    ) -> PhenixJoinChannelOptionsBuilder! {
        options.selection = strategy
        return self
    }

    /// Requests a renderer of each stream, which is started.
    public func withRendererOptions(_ rendererOptions: PhenixRendererOptions!) -> PhenixJoinChannelOptionsBuilder! {
        _ = subscribing.withRendererOptions(rendererOptions)
        return self
    }

    /// Returns the options.
    public func buildJoinChannelOptions() -> PhenixJoinChannelOptions! {
        options.subscribing = subscribing.buildSubscribeOptions()
        return options
    }
}

/// The options for publishing in a room or a channel (Phenix: `PhenixPublishToRoomOptions`).
public struct PhenixPublishToRoomOptions: Sendable {
    var room = PhenixRoomOptions()
    /// The role; nil for that of the type of the room.
    var role: PhenixMemberRole?
    /// The purpose of the stream; nil for that of the role.
    var type: PhenixStreamType?
    var screenName = "guest"
    var publishing = PhenixPublishOptions()
}

/// The options for publishing in a channel (Phenix: `PhenixPublishToChannelOptions`).
public typealias PhenixPublishToChannelOptions = PhenixPublishToRoomOptions

/// A builder of the options for publishing in a room or a channel (Phenix: `PhenixPublishToRoomOptionsBuilder`).
public final class PhenixPublishToRoomOptionsBuilder {
    private var options = PhenixPublishToRoomOptions()

    /// Sets the identifier of the room, which precedes an alias.
    public func withRoomId(_ id: String!) -> PhenixPublishToRoomOptionsBuilder! {
        options.room.id = id ?? ""
        return self
    }

    /// Sets the identifier of the channel, which precedes an alias.
    public func withChannelId(_ id: String!) -> PhenixPublishToRoomOptionsBuilder! { withRoomId(id) }

    /// Sets the room by its alias.
    public func withRoomOptions(_ room: PhenixRoomOptions!) -> PhenixPublishToRoomOptionsBuilder! {
        options.room.alias = room?.alias ?? ""
        return self
    }

    /// Sets the channel by its alias.
    public func withChannelOptions(_ channel: PhenixRoomOptions!) -> PhenixPublishToRoomOptionsBuilder! {
        withRoomOptions(channel)
    }

    /// Sets the role while it publishes. In a channel, it is the presenter in any case.
    public func withMemberRole(_ role: PhenixMemberRole) -> PhenixPublishToRoomOptionsBuilder! {
        options.role = role
        return self
    }

    /// Sets the purpose of the stream. In a channel, it is a presentation in any case.
    public func withStreamType(_ type: PhenixStreamType) -> PhenixPublishToRoomOptionsBuilder! {
        options.type = type
        return self
    }

    /// Sets the name for people.
    public func withScreenName(_ name: String!) -> PhenixPublishToRoomOptionsBuilder! {
        options.screenName = name ?? "guest"
        return self
    }

    /// Sets the media and the token.
    public func withPublishOptions(_ publishing: PhenixPublishOptions!) -> PhenixPublishToRoomOptionsBuilder! {
        options.publishing = publishing ?? PhenixPublishOptions()
        return self
    }

    /// Returns the options.
    public func buildPublishToRoomOptions() -> PhenixPublishToRoomOptions! { options }

    /// Returns the options of a channel.
    public func buildPublishToChannelOptions() -> PhenixPublishToChannelOptions! { options }
}
