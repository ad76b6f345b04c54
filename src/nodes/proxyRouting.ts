import type { Request, Response } from "express";
import type { Call, Route } from "../api/route.js";
import { PortalError } from "../base/portalError.js";
import type { LiveLogs } from "../live/liveLogs.js";
import type { Root } from "../store/root.js";
import { namedNode } from "./namedNode.js";
import {
  type Forwardable,
  hopHeader,
  isBrokenOff,
  isNodeUnreachable,
  misdirected,
  type NodeProxy,
  nodeUnreachable,
  type Peer,
} from "./proxy.js";
import type { OpenCalls } from "./proxyOpenCalls.js";
import { type Owned, type Owners, type Wanted, wantedOf } from "./proxyOwners.js";
import { isLongPoll, type Place, placeOf } from "./proxyPlaces.js";
import type { StoreReading } from "./proxyStoreReading.js";

type RootPlace = Exclude<Place, "asked">;

/** What becomes of a call. */
export type Way =
  | { readonly to: "here" }
  /** This node answers, as far as the store knows. */
  | { readonly to: "store" }
  /** This node answers, after it has become the owner. */
  | { readonly to: "adopt" }
  | { readonly to: "peer"; readonly peer: Peer }
  /** Another node sent it here, but a third one owns it. */
  | { readonly to: "sender" }
  | { readonly to: "nowhere"; readonly node: string };

/** Decides what becomes of a call; `wasSentOn` when it came from another node, which is never sent on again. */
export function wayOf(
  place: Pick<RootPlace, "fromStore" | "whenClosed">,
  owned: Owned | undefined,
  { node, wasSentOn }: { node: string; wasSentOn: boolean },
): Way {
  // What does not exist is not found here as well as elsewhere.
  if (!owned || owned.owner.at === "here") return { to: "here" };
  if (owned.isClosed && place.whenClosed) return { to: "store" };
  const { owner } = owned;
  if (owner.at === "peer") return wasSentOn ? { to: "sender" } : { to: "peer", peer: owner.peer };
  if (place.fromStore) return { to: "store" };
  if (owner.isMovable) return { to: "adopt" };
  return owner.node === node ? { to: "here" } : { to: "nowhere", node: owner.node };
}

export interface RoutingParts {
  /** The name of this portal. */
  node: string;
  proxy: Pick<NodeProxy, "forward">;
  /** Where a node is reached that a call names; rejects when it does not run. */
  peerNamed(name: string): Promise<Peer>;
  owners: Pick<Owners, "find">;
  openCalls: Pick<OpenCalls, "begin">;
  logs: Pick<LiveLogs, "refresh" | "inUse" | "adoption">;
  storeReading: StoreReading;
  /** Calls that can be answered without the owner when it is out of reach, by the path of their route. */
  withoutOwner: Readonly<Record<string, (params: Call["params"]) => Promise<unknown>>>;
  /** Calls with which a user gives up what waits for a node that is not running, by the path of their route. */
  givingUp: Readonly<Record<string, GiveUp>>;
}

/** Ends the root instead of its node; false when that is not what the call asks for. */
export type GiveUp = (root: Root, node: string) => Promise<object | false>;

/** Whether another node has sent this request on. */
export const wasSentOn = (req: Request) => hopHeader in req.headers;

/** Sends each call to the node that owns what it is about, before this one answers it. */
export class Routing {
  readonly #parts: RoutingParts;

  constructor(parts: RoutingParts) {
    this.#parts = parts;
  }

  /** Resolves to whether the call has been answered; otherwise this node may answer it now. */
  readonly answer = async (route: Route, call: Call): Promise<boolean> => {
    const named = namedNode(route, call);
    if (named !== undefined && named !== this.#parts.node) return this.#sendTo(named, route, call);
    const place = placeOf(route);
    if (place === "asked") return false;
    const wanted = wantedOf(place.belongs, call.params, call.json);
    if (!wanted || this.#isMine(wanted)) return false;
    const first = await this.#try(route, place, wanted, call, false);
    // The owner has just changed, and nothing was done: the body is still at hand.
    const last = first === "again" ? await this.#try(route, place, wanted, call, true) : first;
    if (last === "again")
      throw PortalError.unavailable("OwnerChanging", "Its owner changes at this moment; ask again");
    return last;
  };

  /** Other than with an owner, only the node of this name will do. */
  async #sendTo(name: string, route: Route, call: Call): Promise<true> {
    const { req, res } = call;
    // Whoever sent it believes that the node is here.
    if (wasSentOn(req)) {
      res.status(misdirected).json({ error: "NotOwner" });
      return true;
    }
    const peer = await this.#parts.peerNamed(name);
    const sent = await this.#parts.proxy.forward(peer, forwardable(route, call), res);
    if (sent === "answered") return true;
    throw nodeUnreachable(peer, "another node answers at its address");
  }

  /** What is being written here needs no question to the store. */
  #isMine(wanted: Wanted): boolean {
    if (wanted.to === "request" || wanted.to === "worktree") return false;
    return this.#parts.logs.inUse(wanted.to, wanted.id)?.isOwned ?? false;
  }

  async #try(
    route: Route,
    place: RootPlace,
    wanted: Wanted,
    call: Call,
    anew: boolean,
  ): Promise<boolean | "again"> {
    const { node, owners, logs } = this.#parts;
    const { req, res } = call;
    const owned = await owners.find(wanted, { anew });
    const way = wayOf(place, owned, { node, wasSentOn: wasSentOn(req) });
    if (!owned || way.to === "here") return false;
    switch (way.to) {
      case "store":
        await this.#readStore(route, wanted, owned, res);
        return false;
      case "adopt":
        return unlessTaken(logs.adoption.adopt(owned.root).then(() => false));
      case "peer":
        return this.#send(way.peer, route, place, wanted, owned, call);
      case "sender":
        res.status(misdirected).json({ error: "NotOwner" });
        return true;
      case "nowhere":
        return unlessTaken(this.#giveUp(route, owned.root, way.node, res));
    }
  }

  /** What waits for its node can only be given up. */
  async #giveUp({ path }: Route, root: Root, node: string, res: Response): Promise<boolean> {
    const given = await this.#parts.givingUp[path]?.(root, node);
    if (given) {
      res.json(given);
      return true;
    }
    throw PortalError.explained(
      "NodeNotRunning",
      `The node ${node} is not running, and the folder of this ${root.kind} is there. Start it to go on.`,
    );
  }

  async #send(
    peer: Peer,
    route: Route,
    place: RootPlace,
    wanted: Wanted,
    owned: Owned,
    call: Call,
  ): Promise<boolean | "again"> {
    const { params, res } = call;
    const what = forwardable(route, call);
    const open = this.#parts.openCalls.begin(owned.root.id, peer);
    try {
      return (await this.#parts.proxy.forward(peer, what, res, open.lost)) === "answered" || "again";
    } catch (error) {
      if (!isNodeUnreachable(error)) throw error;
      // The owner may have moved the cursor: its reader asks again, and whoever answers then knows.
      if (isLongPoll(route) && isBrokenOff(error)) {
        res.json({ error: "HttpRequestTimeout" });
        return true;
      }
      const instead = this.#parts.withoutOwner[route.path];
      if (instead) {
        res.json(await instead(params));
        return true;
      }
      if (!place.fromStore) throw error;
      await this.#readStore(route, wanted, owned, res);
      return false;
    } finally {
      open.end();
    }
  }

  async #readStore(route: Route, wanted: Wanted, owned: Owned, res: Response): Promise<void> {
    const { logs, storeReading } = this.#parts;
    await logs.refresh(owned.root.id);
    if (route.answers.eventStream === undefined) return;
    // A stream cannot say that it only pauses: it breaks, and its reader comes back with Last-Event-ID.
    res.once(
      "close",
      storeReading.begin(wanted, owned, () => res.destroy()),
    );
  }
}

/** A call as another node gets it. */
const forwardable = (route: Route, { req, body, bytes }: Call): Forwardable => ({
  method: req.method,
  path: req.originalUrl,
  lastEventId: req.get("last-event-id"),
  body: route.body === "bytes" ? bytes : body,
  isRepeatable: route.reads === true,
});

/** Somebody else was quicker: the owner has to be found anew. */
function unlessTaken(work: Promise<boolean>): Promise<boolean | "again"> {
  return work.catch(error => {
    if (error instanceof PortalError && error.code === "TakenOver") return "again";
    throw error;
  });
}
