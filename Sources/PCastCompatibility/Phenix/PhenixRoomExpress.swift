public import PCast
import Synchronization

/// The type of a room (Phenix: `PhenixRoomType`).
public typealias PhenixRoomType = RoomType
/// The role of a member (Phenix: `PhenixMemberRole`).
public typealias PhenixMemberRole = MemberRole
/// The state of a member (Phenix: `PhenixMemberState`).
public typealias PhenixMemberState = MemberState
/// The purpose of a member's stream (Phenix: `PhenixStreamType`).
public typealias PhenixStreamType = RoomStream.Kind
/// The state of a track (Phenix: `PhenixTrackState`).
public typealias PhenixTrackState = RoomStream.TrackState
/// The description of a room (Phenix: `PhenixImmutableRoom`).
public typealias PhenixImmutableRoom = RoomInfo
/// A member of a room (Phenix: `PhenixMember`).
public typealias PhenixMember = RoomMember
/// A stream that a member announces (Phenix: `PhenixStream`).
public typealias PhenixStream = RoomStream
/// A message of a conversation (Phenix: `PhenixChatMessage`).
public typealias PhenixChatMessage = RoomMessage
/// The selection among several presenters (Phenix: `PhenixStreamSelectionStrategy`).
public typealias PhenixStreamSelectionStrategy = PresenterSelection

/// A client of rooms (Phenix: `PhenixRoomExpress`). Create it with ``PhenixRoomExpressFactory``.
///
/// A room that is joined or published to twice is entered once.
public final class PhenixRoomExpress: Sendable {
    /// A callback with the description of a room, or the reason of a failure.
    public typealias CreateRoomCallback = @Sendable (PhenixRequestStatus, PhenixImmutableRoom?) -> Void
    /// A callback with the service of a room, or the reason of a failure.
    public typealias JoinRoomCallback = @Sendable (PhenixRequestStatus, PhenixRoomService?) -> Void
    /// A callback with the service of a room and the publisher, or the reason of a failure.
    public typealias PublishCallback =
        @Sendable (PhenixRequestStatus, PhenixRoomService?, PhenixExpressPublisher?) -> Void

    /// The client (Phenix: `pcastExpress`).
    public let pcastExpress: PhenixPCastExpress
    private let channels = Mutex<[PhenixRoomOptions: Channel]>([:])

    init(_ pcastExpress: PhenixPCastExpress) { self.pcastExpress = pcastExpress }

    /// Creates a room. If there is one with the alias, it is passed to the callback.
    public func createRoom(_ options: PhenixRoomOptions!, _ callback: @escaping CreateRoomCallback) {
        let options = options ?? PhenixRoomOptions()
        Task {
            do throws(PCastError) {
                callback(.ok, try await create(options))
            } catch {
                callback(error.status, nil)
            }
        }
    }

    /// Enters a room.
    public func joinRoom(_ options: PhenixJoinRoomOptions!, _ callback: @escaping JoinRoomCallback) {
        let options = options ?? PhenixJoinRoomOptions()
        Task {
            do throws(PCastError) {
                let channel = try await channel(options.room)
                try await channel.room.join(as: options.role, screenName: options.screenName)
                callback(.ok, PhenixRoomService(channel))
            } catch {
                callback(error.status, nil)
            }
        }
    }

    /// Publishes a stream in a room, which is entered before.
    public func publishToRoom(_ options: PhenixPublishToRoomOptions!, _ callback: @escaping PublishCallback) {
        let options = options ?? PhenixPublishToRoomOptions()
        Task {
            do throws(PCastError) {
                let (service, publisher) = try await publish(options)
                callback(.ok, service, publisher)
            } catch {
                callback(error.status, nil, nil)
            }
        }
    }

    /// Subscribes to a stream that a member announces, with the token of the options.
    public func subscribe(
        toMemberStream stream: PhenixStream, _ options: PhenixSubscribeOptions!,
        _ callback: @escaping PhenixPCastExpress.SubscribeCallback
    ) {
        guard let streamID = stream.streamID else {
            Task { callback(.badRequest, nil, nil) }
            return
        }
        var options = options ?? PhenixSubscribeOptions()
        options.setStream(streamID)
        pcastExpress.subscribe(options, callback)
    }

    fileprivate func create(_ options: PhenixRoomOptions) async throws(PCastError) -> RoomInfo {
        try await pcastExpress.started().createRoom(
            options.alias.isEmpty ? nil : options.alias, name: options.name.isEmpty ? nil : options.name,
            description: options.text, type: options.type)
    }

    fileprivate func publish(
        _ options: PhenixPublishToRoomOptions
    ) async throws(PCastError) -> (PhenixRoomService, PhenixExpressPublisher) {
        let channel = try await channel(options.room)
        let (media, owned) = try await options.publishing.media(of: channel.room.pcast)
        do throws(PCastError) {
            let publication = try await channel.room.publish(
                media, as: options.role, kind: options.type, screenName: options.screenName,
                tags: options.publishing.tags
            ) { () throws(PCastError) in options.publishing.streamToken }
            let publisher = PhenixExpressPublisher(publication.publisher, media, owned, publication)
            return (PhenixRoomService(channel), publisher)
        } catch {
            owned?.stop()
            throw error
        }
    }

    /// Returns the object of a room. There is one for each alias or identifier.
    fileprivate func channel(_ options: PhenixRoomOptions) async throws(PCastError) -> Channel {
        let pcast = try await pcastExpress.started()
        let key = PhenixRoomOptions(id: options.id, alias: options.id.isEmpty ? options.alias : "")
        return channels.withLock { channels in
            if let known = channels[key] { return known }
            let channel = key.id.isEmpty ? pcast.channel(key.alias) : pcast.channel(id: key.id)
            channels[key] = channel
            return channel
        }
    }
}

/// A client of channels (Phenix: `PhenixChannelExpress`). Create it with ``PhenixChannelExpressFactory``.
public final class PhenixChannelExpress: Sendable {
    /// A callback with the stream of the presenter and its renderer, if one was requested. It is called for each presenter
    /// that is selected. The status is `noStreamPlaying` if there is none.
    public typealias SubscriberCallback =
        @Sendable (PhenixRequestStatus, PhenixExpressSubscriber?, PhenixRenderer?) -> Void

    /// The client of rooms (Phenix: `roomExpress`).
    public let roomExpress: PhenixRoomExpress
    /// The tasks that call back with the streams of the channels, which the client retains.
    private let following = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])

    init(_ roomExpress: PhenixRoomExpress) { self.roomExpress = roomExpress }

    deinit { following.withLock { for task in $0.values { task.cancel() } } }

    /// Creates a channel. If there is one with the alias, it is passed to the callback.
    public func createChannel(
        _ options: PhenixRoomOptions!, _ callback: @escaping PhenixRoomExpress.CreateRoomCallback
    ) {
        var options = options ?? PhenixRoomOptions()
        options.type = .channel
        roomExpress.createRoom(options, callback)
    }

    /// Enters a channel as its audience, and subscribes to the stream of its presenter.
    public func joinChannel(
        _ options: PhenixJoinChannelOptions!, _ callback: @escaping PhenixRoomExpress.JoinRoomCallback,
        _ subscriberCallback: @escaping SubscriberCallback
    ) {
        let options = options ?? PhenixJoinChannelOptions()
        Task {
            let channel: Channel
            do throws(PCastError) {
                channel = try await roomExpress.channel(options.joining.room)
                try await channel.join(screenName: options.joining.screenName, selection: options.selection) {
                    () throws(PCastError) in options.subscribing.streamToken
                }
            } catch {
                return callback(error.status, nil)
            }
            callback(.ok, PhenixRoomService(channel))
            follow(channel, options.subscribing, subscriberCallback)
        }
    }

    /// Calls back with the streams of a channel, in place of the callback of an earlier join.
    private func follow(
        _ channel: Channel, _ options: PhenixSubscribeOptions, _ callback: @escaping SubscriberCallback
    ) {
        let task = Task { [members = channel.room.members, stream = channel.stream] in
            let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            await withTaskGroup(of: Void.self) { group in
                // The stream of a presenter may end before or after the presenter leaves.
                group.addTask { for await _ in stream.values { change.yield() } }
                group.addTask { for await _ in members.values { change.yield() } }
                var reported: MediaStream?
                var isVacant = false
                for await _ in changes {
                    if Task.isCancelled { break }
                    if let current = stream.value {
                        guard current !== reported else { continue }
                        (reported, isVacant) = (current, false)
                        callback(.ok, PhenixExpressSubscriber(current), options.renderer(of: current))
                    } else if !isVacant,
                        !members.value.contains(where: { $0.role == .presenter && !$0.streams.isEmpty })
                    {
                        // Otherwise, the stream of a presenter is about to follow.
                        (reported, isVacant) = (nil, true)
                        callback(.noStreamPlaying, nil, nil)
                    }
                }
                group.cancelAll()
            }
        }
        following.withLock { $0.updateValue(task, forKey: ObjectIdentifier(channel)) }?.cancel()
    }

    /// Publishes a stream as a presenter of a channel.
    public func publishToChannel(
        _ options: PhenixPublishToRoomOptions!, _ callback: @escaping PhenixRoomExpress.PublishCallback
    ) {
        var options = options ?? PhenixPublishToRoomOptions()
        (options.role, options.type) = (.presenter, .presentation)
        roomExpress.publishToRoom(options, callback)
    }

    /// Publishes a stream as a presenter, by the name that Swift's importer of Objective-C gives the function.
    public func publish(
        toChannel options: PhenixPublishToRoomOptions!, _ callback: @escaping PhenixRoomExpress.PublishCallback
    ) {
        publishToChannel(options, callback)
    }
}

/// A room that was entered (Phenix: `PhenixRoomService`).
public final class PhenixRoomService: Sendable {
    private let channel: Channel

    init(_ channel: Channel) { self.channel = channel }

    /// The description of the room; nil after it was left.
    public var observableActiveRoom: ObservableValue<PhenixImmutableRoom?> { channel.room.info }
    /// The members outside the audience.
    public var observableMembers: ObservableValue<[PhenixMember]> { channel.room.members }
    /// This client as a member; nil after the room was left.
    public var observableSelf: ObservableValue<PhenixMember?> { channel.room.own }
    /// This client as a member.
    public var `self`: PhenixMember! { channel.room.own.value }
    /// The conversation.
    public var chatService: PhenixRoomChatService! { PhenixRoomChatService(channel.room) }

    /// Leaves the room. A stream of a channel ends.
    public func leaveRoom(_ callback: @escaping @Sendable (PhenixRoomService, PhenixRequestStatus) -> Void) {
        Task {
            await channel.leave()
            callback(self, .ok)
        }
    }
}

/// The conversation of a room (Phenix: `PhenixRoomChatService`).
public final class PhenixRoomChatService: Sendable {
    private let room: Room

    init(_ room: Room) { self.room = room }

    /// Calls back with earlier messages, the oldest first.
    ///
    /// - Parameters:
    ///   - batchSize: The maximum number.
    ///   - beforeMessageId: The message before which they are; nil for the newest.
    ///   - callback: The function that receives them.
    public func getMessages(
        _ batchSize: Int, _ beforeMessageId: String?,
        _ callback: @escaping @Sendable (PhenixRequestStatus, [PhenixChatMessage]?) -> Void
    ) {
        Task {
            do throws(PCastError) {
                callback(.ok, try await room.history(before: beforeMessageId, limit: batchSize))
            } catch {
                callback(error.status, nil)
            }
        }
    }

    /// Calls back with each message from now on, beginning with the newest earlier ones, while the returned object is held.
    public func subscribe(
        batchSize: Int, _ callback: @escaping @Sendable (PhenixRequestStatus, PhenixChatMessage?) -> Void
    ) -> Disposable {
        let task = Task {
            do throws(PCastError) {
                for await message in try await room.messages(history: batchSize) { callback(.ok, message) }
            } catch {
                callback(error.status, nil)
            }
        }
        return Disposable { task.cancel() }
    }

    /// Sends a message of at most 1,024 bytes.
    public func sendMessageToRoom(_ message: String!, _ callback: @escaping @Sendable (PhenixRequestStatus) -> Void) {
        Task {
            do throws(PCastError) {
                try await room.send(message ?? "")
                callback(.ok)
            } catch {
                callback(error.status)
            }
        }
    }
}
